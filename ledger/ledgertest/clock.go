package ledgertest

import (
	"sync"
	"time"
)

// Clock is a clock that a test sets. Each look at it takes a millisecond, so
// that stamps differ.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows 2026-12-01T12:00:00Z.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the time and lets a millisecond pass.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

// Advance lets time pass; a negative duration sets the clock back.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
