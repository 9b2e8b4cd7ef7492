package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/stele-dev/stele/embedding"
)

var errNotNumbers = errors.New("a vector is not an array of numbers")

// parseVector reads an array of numbers from valid JSON. What is too large for a double, and the null that JavaScript writes
// for NaN, become NaN. encoding/json would make null a zero and pass over it.
func parseVector(text json.RawMessage) ([]float64, error) {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '[' {
		return nil, errNotNumbers
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	if len(text) == 0 {
		return nil, nil
	}
	numbers := make([]float64, 0, bytes.Count(text, []byte(","))+1)
	for item := range bytes.SplitSeq(text, []byte(",")) {
		item = bytes.TrimSpace(item)
		f, err := strconv.ParseFloat(string(item), 64)
		switch {
		case string(item) == "null", errors.Is(err, strconv.ErrRange):
			f = math.NaN()
		case err != nil:
			return nil, errNotNumbers
		}
		numbers = append(numbers, f)
	}
	return numbers, nil
}

// normalised gives the vector of length 1 in the direction of numbers; nil when they have none: all are zero, or not all finite.
func normalised(numbers []float64) embedding.Vector {
	largest := 0.0
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		largest = max(largest, math.Abs(x))
	}
	if largest == 0 {
		return nil
	}
	sum := 0.0
	for _, x := range numbers {
		x /= largest // so that no square leaves the range
		sum += x * x
	}
	v := make(embedding.Vector, len(numbers))
	for i, x := range numbers {
		v[i] = float32(x / largest / math.Sqrt(sum))
	}
	return v
}
