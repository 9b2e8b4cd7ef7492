# The image of a release: the binary that was built for the archives, and nothing else. Dockerfile builds from the sources.
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
# The registry of MCP servers takes the image for the one that server.json describes by this name.
LABEL io.modelcontextprotocol.server.name="io.github.stele-dev/stele"
COPY ${TARGETPLATFORM}/stele /usr/local/bin/stele
COPY LICENSE NOTICE /usr/share/doc/stele/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/stele"]
CMD ["--help"]
