// Package encoder runs Universal Sentence Encoder Lite: the format of its weights file, its tokeniser, and its forward
// pass, without cgo. Matrix products go through an assembly kernel on amd64 with AVX2 and FMA, and through portable Go
// everywhere else; both read the same int8 weights where they lie in the file and give the same vectors within rounding.
//
// The model (Cer et al., 2018) is a transformer: 128 tokens at most, embeddings plus a timing signal, pre-norm layers of
// self-attention and a feed-forward network, the mean over the tokens, one dense layer with tanh, and L2 normalisation.
package encoder
