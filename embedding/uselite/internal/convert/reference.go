package main

import (
	"math"

	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
)

// vector is the forward pass as the graph of the model describes it, in float64 and without any care for speed: what the
// shipped encoder is compared with. It shares no arithmetic with it.
func (n *network) vector(tokens []int) []float64 {
	x := make([][]float64, len(tokens))
	for position, id := range tokens {
		x[position] = make([]float64, n.Width)
		for i, v := range n.table[id*n.Width : (id+1)*n.Width] {
			angle := float64(position) * float64(n.frequencies[i%len(n.frequencies)])
			signal := math.Sin(angle)
			if i >= len(n.frequencies) {
				signal = math.Cos(angle)
			}
			x[position][i] = 2*float64(v) + signal
		}
	}
	sum := n.residual.apply(x)
	for _, l := range n.stack {
		qkv := l.qkv.apply(normalize(l.attentionNorm, x))
		accumulate(sum, l.combine.apply(attention(qkv, n.Heads)))
		inner := l.expand.apply(normalize(l.feedForwardNorm, sum))
		for _, row := range inner {
			for i, v := range row {
				row[i] = math.Max(v, 0)
			}
		}
		accumulate(sum, l.contract.apply(inner))
		x = sum
	}
	mean := make([]float64, n.Hidden)
	for _, row := range sum {
		for i, v := range row {
			mean[i] += v / float64(len(sum))
		}
	}
	out := n.output.apply([][]float64{mean})[0]
	var squares float64
	for i, v := range out {
		out[i] = math.Tanh(v)
		squares += out[i] * out[i]
	}
	for i := range out {
		out[i] /= math.Sqrt(squares)
	}
	return out
}

func (d dense) apply(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for r, row := range x {
		out[r] = make([]float64, d.out)
		for j := range out[r] {
			out[r][j] = float64(d.bias[j])
		}
		for i, v := range row {
			for j, w := range d.values[i*d.out : (i+1)*d.out] {
				out[r][j] += v * float64(w)
			}
		}
	}
	return out
}

func normalize(l encoder.Norm, x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for r, row := range x {
		var mean, variance float64
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		out[r] = make([]float64, len(row))
		for i, v := range row {
			out[r][i] = (v-mean)/math.Sqrt(variance+1e-6)*float64(l.Scale[i]) + float64(l.Bias[i])
		}
	}
	return out
}

func attention(qkv [][]float64, heads int) [][]float64 {
	width := len(qkv[0]) / 3
	size := width / heads
	out := make([][]float64, len(qkv))
	for i := range qkv {
		out[i] = make([]float64, width)
		for h := range heads {
			scores, total := make([]float64, len(qkv)), 0.0
			for j := range qkv {
				for k := h * size; k < (h+1)*size; k++ {
					scores[j] += qkv[i][k] * qkv[j][width+k] / math.Sqrt(float64(size))
				}
				scores[j] = math.Exp(scores[j])
				total += scores[j]
			}
			for j, s := range scores {
				for k := h * size; k < (h+1)*size; k++ {
					out[i][k] += s / total * qkv[j][2*width+k]
				}
			}
		}
	}
	return out
}

func accumulate(sum, more [][]float64) {
	for r := range sum {
		for i, v := range more[r] {
			sum[r][i] += v
		}
	}
}
