// Package drift compares a documented C4 model with a commit of a repository: what the model says that the code does not
// have, and what the code has that the model does not say. The comparison is deterministic and needs no server, no database
// and no language model.
package drift
