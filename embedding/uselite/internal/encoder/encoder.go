package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// epsilon keeps a layer normalisation of equal values finite; a constant of the trained model.
const epsilon = 1e-6

// errToken is a fault of the caller: ids come from Tokenize.
var errToken = errors.New("encoder: no such token")

// Encoder turns texts into vectors. It is immutable, so that any number of goroutines may use it, each with a Scratch.
type Encoder struct {
	weights *Weights
	words   *tokenizer
	timing  []float32 // MaxTokens × Width
	kernel  kernel
}

// New reads a weights file (see Read) and chooses the fastest code for this processor.
func New(file []byte) (*Encoder, error) { return build(file, fastest()) }

func build(file []byte, k kernel) (*Encoder, error) {
	w, err := Read(file)
	if err != nil {
		return nil, err
	}
	return &Encoder{weights: w, words: newTokenizer(w.Pieces), timing: timing(w), kernel: k}, nil
}

// timing is what tells positions apart: sines of the position at falling frequencies, then their cosines.
func timing(w *Weights) []float32 {
	signal := make([]float32, MaxTokens*w.Width)
	half := w.Width / 2
	for position := range MaxTokens {
		row := signal[position*w.Width : (position+1)*w.Width]
		for i, frequency := range w.Frequencies {
			sin, cos := math.Sincos(float64(float32(position) * frequency))
			row[i], row[half+i] = float32(sin), float32(cos)
		}
	}
	return signal
}

// Dimensions of the vectors.
func (e *Encoder) Dimensions() int { return e.weights.Hidden }

// Tokenize gives the tokens of a text, MaxTokens at most: none for an empty text, Unknown for what the vocabulary lacks.
func (e *Encoder) Tokenize(text string) []int { return e.words.tokenize(text) }

// Scratch is the working memory of one Encode at a time, about 2 MB for the shipped model.
type Scratch struct {
	input, residual, normed, wide, narrow []float32
	scores, room                          []float32
}

// NewScratch makes working memory for texts of any length.
func (e *Encoder) NewScratch() *Scratch {
	w := e.weights
	rows := padded(MaxTokens)
	in := max(w.Width, w.Hidden)
	wide := max(3*in, w.FeedForward)
	return &Scratch{
		input:    make([]float32, rows*w.Width),
		residual: make([]float32, rows*w.Hidden),
		normed:   make([]float32, rows*in),
		wide:     make([]float32, rows*wide),
		narrow:   make([]float32, rows*in),
		scores:   make([]float32, MaxTokens),
		room:     make([]float32, max(in, w.FeedForward)*PanelColumns),
	}
}

// Encode gives the L2-normalised vector of tokens, of which there must be at least one and at most MaxTokens. It looks
// at ctx between layers.
func (e *Encoder) Encode(ctx context.Context, tokens []int, s *Scratch) ([]float32, error) {
	w, n := e.weights, len(tokens)
	if n < 1 || n > MaxTokens {
		return nil, fmt.Errorf("encoder: %d tokens, expected 1 to %d", n, MaxTokens)
	}
	if err := e.embed(tokens, s.input); err != nil {
		return nil, err
	}
	e.dense(n, s.input, &w.Residual, s.residual, s)
	input := s.input
	for i := range w.Stack {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.layer(n, input, &w.Stack[i], s)
		input = s.residual
	}
	mean := s.normed[:w.Hidden]
	clear(mean)
	for row := range n {
		add(mean, s.residual[row*w.Hidden:(row+1)*w.Hidden])
	}
	for i := range mean {
		mean[i] /= float32(n)
	}
	e.dense(1, s.normed, &w.Output, s.narrow, s)
	return unit(s.narrow[:w.Hidden]), nil
}

// embed writes twice the embedding of each token plus the timing signal of its position. Twice, because the trained
// graph adds the embeddings once more to their sum with the signal.
func (e *Encoder) embed(tokens []int, out []float32) error {
	w := e.weights
	for position, id := range tokens {
		if id < 0 || id >= w.Rows {
			return fmt.Errorf("%w: %d of %d", errToken, id, w.Rows)
		}
		row := out[position*w.Width : (position+1)*w.Width]
		signal := e.timing[position*w.Width:]
		scale := 2 * w.Embeddings.Scale[id]
		for i, b := range w.Embeddings.Rows[id*w.Width : (id+1)*w.Width] {
			row[i] = scale*float32(int8(b)) + signal[i] //nolint:gosec // the bits as they are
		}
	}
	return nil
}

// layer adds to the residual what one transformer layer makes of input, whose rows are as wide as its norm.
func (e *Encoder) layer(n int, input []float32, l *Layer, s *Scratch) {
	hidden := e.weights.Hidden
	l.AttentionNorm.apply(n, input, s.normed)
	e.dense(n, s.normed, &l.QKV, s.wide, s)
	e.attend(n, l.QKV.In, s.wide, s.normed, s.scores)
	e.dense(n, s.normed, &l.Combine, s.narrow, s)
	add(s.residual[:n*hidden], s.narrow)

	l.FeedForwardNorm.apply(n, s.residual, s.normed)
	e.dense(n, s.normed, &l.Expand, s.wide, s)
	for i, v := range s.wide[:n*l.Expand.Out] {
		if v < 0 {
			s.wide[i] = 0
		}
	}
	e.dense(n, s.wide, &l.Contract, s.narrow, s)
	add(s.residual[:n*hidden], s.narrow)
}

// dense sets out to in times the matrix, scaled, plus the bias.
func (e *Encoder) dense(n int, in []float32, d *Dense, out []float32, s *Scratch) {
	e.kernel.multiply(n, in, &d.Matrix, out, s.room)
	scale, bias := d.Scale, d.Bias[:len(d.Scale)]
	for row := range n {
		values := out[row*d.Out : (row+1)*d.Out][:len(scale)]
		for i := range values {
			values[i] = values[i]*scale[i] + bias[i]
		}
	}
}

// apply normalises each row of in to mean 0 and variance 1, then scales and shifts it.
func (l *Norm) apply(n int, in, out []float32) {
	width := len(l.Scale)
	bias := l.Bias[:width]
	for row := range n {
		x := in[row*width : (row+1)*width]
		y := out[row*width : (row+1)*width][:len(x)]
		var sum, squares float32
		for _, v := range x {
			sum += v
		}
		mean := sum / float32(width)
		for _, v := range x {
			squares += (v - mean) * (v - mean)
		}
		inverse := float32(1 / math.Sqrt(float64(squares/float32(width))+epsilon))
		for i, scale := range l.Scale {
			y[i] = scale*inverse*(x[i]-mean) + bias[i]
		}
	}
}

// attend mixes, for each head, the values of all tokens by how well their keys answer a token's query. qkv holds
// queries, keys and values side by side, each width wide.
func (e *Encoder) attend(n, width int, qkv, out, scores []float32) {
	heads := e.weights.Heads
	size := width / heads
	scale := float32(1 / math.Sqrt(float64(size)))
	part := func(row, third, head int) []float32 {
		at := row*3*width + third*width + head*size
		return qkv[at : at+size : at+size]
	}
	scores = scores[:n]
	for head := range heads {
		for i := range n {
			query := part(i, 0, head)
			for j := range scores {
				scores[j] = e.kernel.dot(query, part(j, 1, head)) * scale
			}
			softmax(scores)
			mixed := out[i*width+head*size:][:size]
			clear(mixed)
			for j, score := range scores {
				e.kernel.addScaled(mixed, part(j, 2, head), score)
			}
		}
	}
}

// softmax turns scores into weights that sum to 1.
func softmax(scores []float32) {
	largest := scores[0]
	for _, s := range scores {
		largest = max(largest, s)
	}
	var sum float32
	for i, s := range scores {
		scores[i] = float32(math.Exp(float64(s - largest)))
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}

// add adds the first len(sum) values of more.
func add(sum, more []float32) {
	more = more[:len(sum)]
	for i, v := range more {
		sum[i] += v
	}
}

// unit gives tanh of each value, as a new vector of length 1.
func unit(values []float32) []float32 {
	out := make([]float32, len(values))
	var squares float64
	for i, v := range values {
		t := math.Tanh(float64(v))
		out[i] = float32(t)
		squares += t * t
	}
	if squares > 0 {
		inverse := float32(1 / math.Sqrt(squares))
		for i := range out {
			out[i] *= inverse
		}
	}
	return out
}
