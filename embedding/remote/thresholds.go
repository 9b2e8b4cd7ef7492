package remote

import (
	"path"
	"strings"

	"github.com/stele-dev/stele/embedding"
)

// never is above every cosine.
const never = 1.01

// unmeasured says, by the beginning of a model's name, from which cosine two texts count as similar.
//
// Cosines of different encoders are not on one scale: where one gives two unrelated sentences 0.1, another gives them 0.75. None
// of these values is measured. They are put high in the range in which each model's cosines are known to lie, and decide only
// what is shown as similar. What would change memories is not taken from them (see thresholdsOf). The longest beginning counts.
var unmeasured = map[string]float64{
	"text-embedding-3":       0.70, // unrelated texts come close to 0
	"text-embedding-ada-002": 0.92, // unrelated texts come to 0.7 and more
	"all-minilm":             0.75, // unrelated texts come close to 0
	"nomic-embed-text":       0.85,
	"mxbai-embed":            0.85,
	"snowflake-arctic-embed": 0.85,
	"bge-":                   0.88,
	"bge-m3":                 0.85,
	"e5-":                    0.93, // trained with a low temperature: unrelated texts come to 0.7 and more
	"multilingual-e5":        0.93, // as e5
	"embeddinggemma":         0.85,
	"qwen3-embedding":        0.85,
}

// similarUnknown is for models that nothing is known of: too high for most, so that little is offered and little of it is wrong.
const similarUnknown = 0.90

// thresholdsOf gives the bounds for a model by its name, the part after the last slash, in any case.
//
// As none is measured, no two texts are taken for one by their cosine (Dedupe is above every one), and no result is left out
// by it (Floor is 0). Whoever has measured a model sets Options.Thresholds.
func thresholdsOf(model string) embedding.Thresholds {
	name, longest := strings.ToLower(path.Base(model)), 0
	t := embedding.Thresholds{Dedupe: never, Similar: similarUnknown}
	for beginning, similar := range unmeasured {
		if len(beginning) > longest && strings.HasPrefix(name, beginning) {
			longest, t.Similar = len(beginning), similar
		}
	}
	return t
}
