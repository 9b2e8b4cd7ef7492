package encoder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unicode/utf8"
)

// The weights file, all numbers little-endian:
//
//	magic      8 bytes  "STELEUSE"
//	version    uint32   1
//	checksum   uint32   CRC-32 (Castagnoli) of everything after the header
//	size       uint64   bytes after the header
//	shape      6 uint32 Shape, in the order of its fields
//	pieces     uint32 count, then for each: uint8 length, UTF-8 text, float64 score
//	sections   in the order of Weights.sections: float32 values or int8 weights, sizes given by the shape
//
// There are no names and no offsets in it: the shape says where everything is, and any other size is an error.
const (
	magic      = "STELEUSE"
	version    = 1
	headerSize = len(magic) + 4 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// MaxTokens is how many tokens of a text the model looks at.
const MaxTokens = 128

// Reserved is how many pieces at the beginning of the vocabulary stand for no text: unknown, start, end, and three spare.
const Reserved = 6

// maxDimension bounds every number of a shape, so that sizes computed from them fit easily.
const maxDimension = 1 << 16

// Shape is what a model's sizes follow from.
type Shape struct {
	Rows        int // of the embedding table; at least as many as there are pieces
	Width       int // of an embedding; even, as half of the timing signal are sines and half cosines
	Hidden      int // of a layer's output, and dimensions of the vectors
	FeedForward int // of the feed-forward network between
	Heads       int // of attention; divides Width and Hidden
	Layers      int
}

func (s *Shape) fields() []*int {
	return []*int{&s.Rows, &s.Width, &s.Hidden, &s.FeedForward, &s.Heads, &s.Layers}
}

// in is the width of what layer i gets.
func (s *Shape) in(i int) int {
	if i == 0 {
		return s.Width
	}
	return s.Hidden
}

func (s *Shape) validate() error {
	for _, f := range s.fields() {
		if *f < 1 || *f > maxDimension {
			return fmt.Errorf("a dimension is %d, expected 1 to %d", *f, maxDimension)
		}
	}
	for _, width := range []int{s.Width, s.Hidden} {
		if width%s.Heads != 0 {
			return fmt.Errorf("%d heads do not divide a width of %d", s.Heads, width)
		}
	}
	if s.Width%2 != 0 {
		return fmt.Errorf("embeddings have an odd width, %d", s.Width)
	}
	for _, columns := range []int{s.Hidden, s.FeedForward, 3 * s.Width} {
		if columns%PanelColumns != 0 {
			return fmt.Errorf("a matrix has %d columns, which is no multiple of %d", columns, PanelColumns)
		}
	}
	return nil
}

// Piece is one entry of the vocabulary.
type Piece struct {
	Text  string
	Score float64 // log probability
}

// Table holds int8 embeddings, one row for each piece.
type Table struct {
	Scale []float32 // of each row
	Rows  []byte    // int8 in two's complement, Width for each row
}

// Dense is a matrix with a bias for each column.
type Dense struct {
	Matrix

	Bias []float32
}

// Norm is a layer normalisation.
type Norm struct{ Scale, Bias []float32 }

// Layer is one transformer layer.
type Layer struct {
	AttentionNorm   Norm
	QKV             Dense // queries, keys and values side by side
	Combine         Dense // the heads' outputs to Hidden
	FeedForwardNorm Norm
	Expand          Dense // Hidden to FeedForward, then ReLU
	Contract        Dense // FeedForward to Hidden
}

// Weights is the content of a weights file.
type Weights struct {
	Shape

	Pieces      []Piece
	Frequencies []float32 // of the timing signal, radians for each position
	Embeddings  Table
	Residual    Dense // Width to Hidden: what the first layer's output is added to
	Stack       []Layer
	Output      Dense // Hidden to Hidden, then tanh
}

// section is one run of values in the file: floats or bytes, whichever is set.
type section struct {
	floats *[]float32
	bytes  *[]byte
	size   int // values
}

// sections gives all of w in the order of the file, and sets the sizes of its matrices to what the shape says. Reading,
// writing and checking go through it, so that they cannot disagree.
func (w *Weights) sections() []section {
	var all []section
	floats := func(p *[]float32, size int) { all = append(all, section{floats: p, size: size}) }
	dense := func(d *Dense, in, out int) {
		d.In, d.Out = in, out
		all = append(all, section{bytes: &d.Panels, size: in * out})
		floats(&d.Scale, out)
		floats(&d.Bias, out)
	}
	floats(&w.Frequencies, w.Width/2)
	all = append(all, section{bytes: &w.Embeddings.Rows, size: w.Rows * w.Width})
	floats(&w.Embeddings.Scale, w.Rows)
	dense(&w.Residual, w.Width, w.Hidden)
	for i := range w.Stack {
		l, in := &w.Stack[i], w.in(i)
		floats(&l.AttentionNorm.Scale, in)
		floats(&l.AttentionNorm.Bias, in)
		dense(&l.QKV, in, 3*in)
		dense(&l.Combine, in, w.Hidden)
		floats(&l.FeedForwardNorm.Scale, w.Hidden)
		floats(&l.FeedForwardNorm.Bias, w.Hidden)
		dense(&l.Expand, w.Hidden, w.FeedForward)
		dense(&l.Contract, w.FeedForward, w.Hidden)
	}
	dense(&w.Output, w.Hidden, w.Hidden)
	return all
}

// Write gives the weights file of w: the same bytes for the same weights. The error says what does not fit the shape.
func Write(w *Weights) ([]byte, error) {
	if err := w.validate(); err != nil {
		return nil, err
	}
	if len(w.Stack) != w.Layers || len(w.Pieces) > w.Rows || len(w.Pieces) < Reserved {
		return nil, fmt.Errorf("%d layers for %d in the shape, %d pieces for %d embeddings", len(w.Stack), w.Layers, len(w.Pieces), w.Rows)
	}
	var payload []byte
	for _, f := range w.fields() {
		payload = binary.LittleEndian.AppendUint32(payload, uint32(*f)) //nolint:gosec // validated
	}
	payload = binary.LittleEndian.AppendUint32(payload, uint32(len(w.Pieces))) //nolint:gosec // at most Rows
	for i, p := range w.Pieces {
		if len(p.Text) > math.MaxUint8 || !finite(p.Score) {
			return nil, fmt.Errorf("piece %d has %d bytes and a score of %g", i, len(p.Text), p.Score)
		}
		payload = append(payload, byte(len(p.Text))) //nolint:gosec // at most 255
		payload = append(payload, p.Text...)
		payload = binary.LittleEndian.AppendUint64(payload, math.Float64bits(p.Score))
	}
	for i, s := range w.sections() {
		if s.bytes != nil {
			if len(*s.bytes) != s.size {
				return nil, fmt.Errorf("section %d has %d weights, the shape wants %d", i, len(*s.bytes), s.size)
			}
			payload = append(payload, *s.bytes...)
			continue
		}
		if len(*s.floats) != s.size {
			return nil, fmt.Errorf("section %d has %d values, the shape wants %d", i, len(*s.floats), s.size)
		}
		for _, f := range *s.floats {
			if !finite(float64(f)) {
				return nil, fmt.Errorf("section %d holds %g", i, f)
			}
			payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(f))
		}
	}
	file := append([]byte(nil), magic...)
	file = binary.LittleEndian.AppendUint32(file, version)
	file = binary.LittleEndian.AppendUint32(file, crc32.Checksum(payload, castagnoli))
	file = binary.LittleEndian.AppendUint64(file, uint64(len(payload)))
	return append(file, payload...), nil
}

// Read gives the weights of a file. int8 weights stay where they are in file, which must not change afterwards; the
// error says what is wrong with it.
func Read(file []byte) (*Weights, error) {
	if len(file) < headerSize || !bytes.HasPrefix(file, []byte(magic)) {
		return nil, errors.New("weights: not a weights file")
	}
	header, payload := file[len(magic):headerSize], file[headerSize:]
	if v := binary.LittleEndian.Uint32(header); v != version {
		return nil, fmt.Errorf("weights: version %d, this program reads %d", v, version)
	}
	if size := binary.LittleEndian.Uint64(header[8:]); size != uint64(len(payload)) {
		return nil, fmt.Errorf("weights: %d bytes after the header, which says %d", len(payload), size)
	}
	if sum, want := crc32.Checksum(payload, castagnoli), binary.LittleEndian.Uint32(header[4:]); sum != want {
		return nil, fmt.Errorf("weights: checksum %08x, the header says %08x", sum, want)
	}
	w, err := readPayload(payload)
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return w, nil
}

var errShort = errors.New("ends too early")

// readPayload trusts nothing, as a checksum only tells accidents.
func readPayload(payload []byte) (*Weights, error) {
	next := func(n int) ([]byte, error) {
		if n > len(payload) {
			return nil, errShort
		}
		part := payload[:n:n]
		payload = payload[n:]
		return part, nil
	}
	number := func() (int, error) {
		b, err := next(4)
		if err != nil {
			return 0, err
		}
		return int(binary.LittleEndian.Uint32(b)), nil
	}
	w := &Weights{}
	for _, f := range w.fields() {
		n, err := number()
		if err != nil {
			return nil, err
		}
		*f = n
	}
	if err := w.validate(); err != nil {
		return nil, err
	}
	count, err := number()
	if err != nil {
		return nil, err
	}
	if count < Reserved || count > w.Rows {
		return nil, fmt.Errorf("%d pieces for %d embeddings", count, w.Rows)
	}
	// Sizes are compared before anything is made, so that a wrong shape costs no memory.
	if least := w.Rows*w.Width + w.Layers*w.Hidden*w.FeedForward; least > len(payload) {
		return nil, errShort
	}
	w.Pieces = make([]Piece, count)
	for i := range w.Pieces {
		length, err := next(1)
		if err != nil {
			return nil, err
		}
		b, err := next(int(length[0]) + 8)
		if err != nil {
			return nil, err
		}
		text, score := b[:length[0]], math.Float64frombits(binary.LittleEndian.Uint64(b[length[0]:]))
		if len(text) == 0 || !utf8.Valid(text) || !finite(score) {
			return nil, fmt.Errorf("piece %d is %q with a score of %g", i, text, score)
		}
		w.Pieces[i] = Piece{Text: string(text), Score: score}
	}
	w.Stack = make([]Layer, w.Layers)
	for i, s := range w.sections() {
		if s.bytes != nil {
			if *s.bytes, err = next(s.size); err != nil {
				return nil, err
			}
			continue
		}
		b, err := next(4 * s.size)
		if err != nil {
			return nil, err
		}
		*s.floats = make([]float32, s.size)
		for j := range *s.floats {
			f := math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:]))
			if !finite(float64(f)) {
				return nil, fmt.Errorf("section %d holds %g", i, f)
			}
			(*s.floats)[j] = f
		}
	}
	if len(payload) > 0 {
		return nil, fmt.Errorf("%d bytes too many", len(payload))
	}
	return w, nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
