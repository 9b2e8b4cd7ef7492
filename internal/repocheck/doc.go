// Package repocheck holds tests over the repository itself: what no single package can promise about the tree, such as
// links that lead somewhere, decisions with a number of their own, migrations that keep their rules, a compose file that
// is valid, and an architecture model that says what the imports say.
//
// Each check is a function from files to complaints, so that it can be seen to fail on a bad tree before it is trusted on
// the real one. There is no other code here.
package repocheck
