package api

import "time"

// Hurry makes a server as impatient as a test.
func (s *Server) Hurry(d time.Duration) { s.timeouts = timeouts{header: d, read: d, write: d, idle: d} }
