package web

import "time"

// StopClock has pages tell ages from a moment. It is called before any page is made.
func StopClock(at time.Time) { now = func() time.Time { return at } }
