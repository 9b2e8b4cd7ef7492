package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/stele-dev/stele/embedding/uselite/internal/encoder"
)

// tensor is one array of the trained model, row-major.
type tensor struct {
	shape  []int
	values []float32
}

// model is what the package holds: TensorFlow.js weights and SentencePiece pieces.
type model struct {
	tensors map[string]tensor
	pieces  []encoder.Piece
}

// readModel reads model.json, the shards it lists, and vocab.json.
func readModel(files map[string][]byte) (*model, error) {
	var manifest struct {
		WeightsManifest []struct {
			Paths   []string `json:"paths"`
			Weights []struct {
				Name         string          `json:"name"`
				Shape        []int           `json:"shape"`
				DType        string          `json:"dtype"`
				Quantization json.RawMessage `json:"quantization"`
			} `json:"weights"`
		} `json:"weightsManifest"`
	}
	if err := json.Unmarshal(files["model.json"], &manifest); err != nil {
		return nil, fmt.Errorf("model.json: %w", err)
	}
	m := &model{tensors: map[string]tensor{}}
	for _, group := range manifest.WeightsManifest {
		var data []byte
		for _, p := range group.Paths {
			shard, ok := files[p]
			if !ok {
				return nil, fmt.Errorf("model.json lists the shard %s, which is not there", p)
			}
			data = append(data, shard...)
		}
		for _, w := range group.Weights {
			size := 4 // of an int32 and of a float32, the only types in this model
			for _, dimension := range w.Shape {
				size *= dimension
			}
			if size < 0 || size > len(data) || len(w.Quantization) > 0 || (w.DType != "float32" && w.DType != "int32") {
				return nil, fmt.Errorf("tensor %s %v of %s: needs %d of the %d bytes left", w.Name, w.Shape, w.DType, size, len(data))
			}
			if w.DType == "float32" {
				m.tensors[w.Name] = tensor{shape: w.Shape, values: floats(data[:size])}
			}
			data = data[size:]
		}
		if len(data) > 0 {
			return nil, fmt.Errorf("the shards hold %d bytes more than model.json describes", len(data))
		}
	}
	var err error
	m.pieces, err = readPieces(files["vocab.json"])
	return m, err
}

func floats(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}

// readPieces reads [["text", score], …]; a score may be null and then counts as 0, as the reference implementation
// counts it.
func readPieces(data []byte) ([]encoder.Piece, error) {
	var list [][2]any
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("vocab.json: %w", err)
	}
	pieces := make([]encoder.Piece, len(list))
	for i, entry := range list {
		text, ok := entry[0].(string)
		score, number := entry[1].(float64)
		if !ok || (!number && entry[1] != nil) {
			return nil, fmt.Errorf("vocab.json: entry %d is %v, expected a text and a score", i, entry)
		}
		pieces[i] = encoder.Piece{Text: text, Score: score}
	}
	return pieces, nil
}

// Names of the trained graph.
const (
	graph   = "module_apply_default/Encoder_en/KonaTransformer/Encode/"
	module  = "module/Encoder_en/"
	concat  = "/ConcatPartitions/concat"
	timing  = graph + "TransformerStack/Layer_0/AddTimingSignal/TimingSignal/ExpandDims_1"
	table   = "module/Embeddings_en"
	outputs = module + "hidden_layers/tanh_layer_0/"
)

// network is the model by what its tensors are for.
type network struct {
	encoder.Shape

	frequencies, table []float32
	residual, output   dense
	stack              []layer
}

type dense struct {
	in, out      int
	values, bias []float32
}

type layer struct {
	attentionNorm, feedForwardNorm encoder.Norm
	qkv, combine, expand, contract dense
}

// network looks the tensors up. The number of heads is not among them; it is a constant of the graph.
func (m *model) network() (*network, error) {
	var missing error
	get := func(name string, shape ...int) []float32 {
		t, ok := m.tensors[name]
		size := 1
		for _, dimension := range shape {
			size *= dimension
		}
		if missing == nil && (!ok || len(t.values) != size) {
			missing = fmt.Errorf("tensor %s: %v, expected %v", name, t.shape, shape)
		}
		return t.values
	}
	embeddings, ok := m.tensors[table]
	if !ok || len(embeddings.shape) != 2 {
		return nil, fmt.Errorf("tensor %s: %v, expected two dimensions", table, embeddings.shape)
	}
	n := &network{Shape: encoder.Shape{Rows: embeddings.shape[0], Width: embeddings.shape[1], Heads: 4, Layers: 2}}
	n.Hidden = len(m.tensors[outputs+"bias"].values)
	n.FeedForward = len(m.tensors[graph+"Layer_0/TransformerLayer/FFN/conv1/bias"+concat].values)
	n.frequencies, n.table = get(timing, n.Width/2), embeddings.values
	first := graph + "Layer_0/TransformerLayer/dense/"
	n.residual = dense{n.Width, n.Hidden, get(first+"kernel"+concat, n.Width, n.Hidden), get(first+"bias"+concat, n.Hidden)}
	n.output = dense{n.Hidden, n.Hidden, get(outputs+"weights", n.Hidden, n.Hidden), get(outputs+"bias", n.Hidden)}
	in := n.Width
	for i := range n.Layers {
		own := graph + fmt.Sprintf("Layer_%d/TransformerLayer/", i)
		kernels := module + fmt.Sprintf("KonaTransformer/Encode/Layer_%d/TransformerLayer/MultiheadAttention/", i)
		stack := graph + fmt.Sprintf("TransformerStack/Layer_%d/TransformerLayer/FFN/", i)
		norm := func(where string, width int) encoder.Norm {
			where += "layer_prepostprocess/layer_norm/layer_norm_"
			return encoder.Norm{Scale: get(where+"scale"+concat, width), Bias: get(where+"bias"+concat, width)}
		}
		attention := func(name string, in, out int) dense {
			return dense{in, out, get(kernels+name+"/kernel/part_0", in, out), get(own+"MultiheadAttention/"+name+"/bias"+concat, out)}
		}
		feedForward := func(name string, in, out int) dense {
			return dense{in, out, get(stack+name+"/Tensordot/Reshape_1", in, out), get(own+"FFN/"+name+"/bias"+concat, out)}
		}
		n.stack = append(n.stack, layer{
			attentionNorm:   norm(own, in),
			qkv:             attention("qkv_transform_single", in, 3*in),
			combine:         attention("output_transform_single", in, n.Hidden),
			feedForwardNorm: norm(own+"FFN/", n.Hidden),
			expand:          feedForward("conv1", n.Hidden, n.FeedForward),
			contract:        feedForward("conv2", n.FeedForward, n.Hidden),
		})
		in = n.Hidden
	}
	return n, missing
}

// quantize gives the weights to ship.
func (m *model) quantize() (*encoder.Weights, error) {
	n, err := m.network()
	if err != nil {
		return nil, err
	}
	w := &encoder.Weights{Shape: n.Shape, Pieces: m.pieces, Frequencies: n.frequencies, Stack: make([]encoder.Layer, n.Layers)}
	if w.Embeddings, err = encoder.QuantizeTable(n.Width, n.table); err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	matrices := map[*encoder.Dense]dense{&w.Residual: n.residual, &w.Output: n.output}
	for i, l := range n.stack {
		to := &w.Stack[i]
		to.AttentionNorm, to.FeedForwardNorm = l.attentionNorm, l.feedForwardNorm
		matrices[&to.QKV], matrices[&to.Combine] = l.qkv, l.combine
		matrices[&to.Expand], matrices[&to.Contract] = l.expand, l.contract
	}
	for to, from := range matrices {
		if to.Matrix, err = encoder.QuantizeMatrix(from.in, from.out, from.values); err != nil {
			return nil, err
		}
		to.Bias = from.bias
	}
	return w, nil
}
