# syntax=docker/dockerfile:1

# Stele as one static binary in an image that holds nothing else. It has no PostgreSQL inside: in a container Stele
# serves from the database that STELE_DATABASE_URL names (docker-compose.yml brings one).

FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/stele ./cmd/stele

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/stele /usr/local/bin/stele
COPY LICENSE NOTICE /usr/share/doc/stele/
# The user "nonroot" of the base image. docker-compose.yml replaces it by yours, so that it can read your secrets.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/stele"]
CMD ["--help"]
