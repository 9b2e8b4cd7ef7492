// Package faults breaks Stele on purpose and looks at what is left. It holds tests only.
//
// Real servers, children of the test built from this tree, serve clients that note every write they were told is stored,
// while one fault after the other is put under them: processes are killed, the network between server and database is cut,
// every connection is held by a lock, the disk is full. After each fault three things are asked:
//
//   - Is everything ready again, and how soon? Every server answers /readyz with 200, and stores and finds a new fact.
//   - Is every acknowledged write there exactly once, with its text, tags, confirmations and state? Every write carries an
//     Idempotency-Key and is repeated under it until it is acknowledged, so what must be there is known exactly.
//   - Does `stele doctor --deep` find everything in order?
//
// Each fault has to be seen: a process died, a request failed, bytes were withheld. A fault that nobody noticed fails the
// test as well.
//
// What is put into the database by hand (garbled rows, altered ciphertext), what a clock does that jumps, and migrations that are
// interrupted have tests of their own, on small databases.
//
// The short form runs every fault once, in an order that is always the same, and is part of the tests. The long form runs
// for as long as FAULTS says (make faults), in orders that a printed seed gives (FAULTS_SEED repeats one), and fails also when
// a restart took longer than it may. docs/faults.md tells what was measured.
package faults
