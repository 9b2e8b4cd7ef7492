package encoder

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tiny is a model of a few numbers: every part of the real one, in a file of some kilobytes.
func tiny(t testing.TB) *Weights {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	values := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = random.Float32() - 0.5
		}
		return v
	}
	w := &Weights{
		Shape:  Shape{Rows: 12, Width: 48, Hidden: 32, FeedForward: 64, Heads: 2, Layers: 2},
		Stack:  make([]Layer, 2),
		Pieces: []Piece{{"<0>", 0}, {"<1>", 0}, {"<2>", 0}, {"<3>", 0}, {"<4>", 0}, {"<5>", 0}, {blank, -3}, {"a", -2}, {"ab", -2.5}, {blank + "a", -2.5}, {"b", -4}},
	}
	for _, s := range w.sections() {
		if s.floats != nil {
			*s.floats = values(s.size)
			continue
		}
		*s.bytes = make([]byte, s.size)
		for i := range *s.bytes {
			(*s.bytes)[i] = byte(random.IntN(256))
		}
	}
	return w
}

func written(t testing.TB, w *Weights) []byte {
	t.Helper()
	file, err := Write(w)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWeightsRoundTrip(t *testing.T) {
	t.Parallel()
	w := tiny(t)
	file := written(t, w)
	if again := written(t, tiny(t)); !bytes.Equal(file, again) {
		t.Error("the same weights gave two different files")
	}
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, got); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	if back := written(t, got); !bytes.Equal(file, back) {
		t.Error("written again, the file is another one")
	}
}

// seal sets size and checksum to what the payload is, so that a fault reaches the code behind them.
func seal(file []byte) []byte {
	payload := file[headerSize:]
	binary.LittleEndian.PutUint32(file[len(magic)+4:], crc32.Checksum(payload, castagnoli))
	binary.LittleEndian.PutUint64(file[len(magic)+8:], uint64(len(payload)))
	return file
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	number := func(at int, v uint32) func([]byte) []byte {
		return func(f []byte) []byte {
			binary.LittleEndian.PutUint32(f[at:], v)
			return f
		}
	}
	sealed := func(change func([]byte) []byte) func([]byte) []byte {
		return func(f []byte) []byte { return seal(change(f)) }
	}
	shape := func(field int, v uint32) func([]byte) []byte { return sealed(number(headerSize+4*field, v)) }
	firstPiece := headerSize + 4*7
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"empty":         {func([]byte) []byte { return nil }, "not a weights file"},
		"header only":   {func(f []byte) []byte { return f[:headerSize-1] }, "not a weights file"},
		"other file":    {func(f []byte) []byte { f[0] = 'X'; return f }, "not a weights file"},
		"version":       {number(len(magic), 2), "version 2, this program reads 1"},
		"cut":           {func(f []byte) []byte { return f[:len(f)-1] }, "which says"},
		"one bit":       {func(f []byte) []byte { f[len(f)/2] ^= 1; return f }, "checksum"},
		"sealed cut":    {sealed(func(f []byte) []byte { return f[:len(f)-3] }), "too early"},
		"sealed more":   {sealed(func(f []byte) []byte { return append(f, 0) }), "1 bytes too many"},
		"no payload":    {sealed(func(f []byte) []byte { return f[:headerSize] }), "too early"},
		"no rows":       {shape(0, 0), "a dimension is 0"},
		"huge rows":     {shape(0, math.MaxUint32), "a dimension is"},
		"many rows":     {shape(0, maxDimension), "too early"},
		"odd width":     {shape(1, 17), "heads do not divide"},
		"width":         {shape(1, 18), "no multiple of 16"},
		"hidden":        {shape(2, 18), "no multiple of 16"},
		"heads":         {shape(4, 3), "3 heads do not divide"},
		"layers":        {shape(5, 60000), "too early"},
		"few pieces":    {sealed(number(headerSize+4*6, 5)), "5 pieces"},
		"many pieces":   {sealed(number(headerSize+4*6, 13)), "13 pieces"},
		"empty piece":   {sealed(func(f []byte) []byte { f[firstPiece] = 0; return f }), "piece 0"},
		"piece, UTF-8":  {sealed(func(f []byte) []byte { f[firstPiece+1] = 0xff; return f }), "piece 0"},
		"piece, score":  {sealed(func(f []byte) []byte { f[firstPiece+1+3+7] = 0x7f; f[firstPiece+1+3+6] = 0xf0; return f }), "piece 0"},
		"not a number":  {sealed(number(len(written(t, tiny(t)))-4, math.Float32bits(float32(math.NaN())))), "holds NaN"},
		"infinite bias": {sealed(number(len(written(t, tiny(t)))-4, math.Float32bits(float32(math.Inf(-1))))), "holds -Inf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(c.change(written(t, tiny(t))))
			if err == nil || !strings.HasPrefix(err.Error(), "weights: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, expected weights: … %s", err, c.want)
			}
		})
	}
}

func TestWriteRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Weights){
		"shape":           func(w *Weights) { w.Heads = 0 },
		"layers":          func(w *Weights) { w.Stack = w.Stack[:1] },
		"too few pieces":  func(w *Weights) { w.Pieces = w.Pieces[:Reserved-1] },
		"too many pieces": func(w *Weights) { w.Pieces = append(w.Pieces, w.Pieces...) },
		"a long piece":    func(w *Weights) { w.Pieces[7].Text = strings.Repeat("a", 256) },
		"no score":        func(w *Weights) { w.Pieces[7].Score = math.NaN() },
		"weights":         func(w *Weights) { w.Output.Panels = w.Output.Panels[1:] },
		"bias":            func(w *Weights) { w.Output.Bias = nil },
		"not a number":    func(w *Weights) { w.Frequencies[0] = float32(math.NaN()) },
	} {
		w := tiny(t)
		if change(w); second(Write(w)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzRead looks for a file that makes reading panic or take memory, and for one that is read and cannot be used.
func FuzzRead(f *testing.F) {
	file := written(f, tiny(f))
	f.Add(file[headerSize:])
	f.Add(file[headerSize : len(file)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		w, err := readPayload(payload)
		if err != nil {
			return
		}
		if w.Hidden > 256 || w.Layers > 4 {
			return // a right file, too large to be quick
		}
		e, err := New(written(t, w))
		if err != nil {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		if _, err := e.Encode(t.Context(), []int{0, w.Rows - 1}, e.NewScratch()); err != nil {
			t.Fatal(err)
		}
	})
}
