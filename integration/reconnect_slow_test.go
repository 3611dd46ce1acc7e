//go:build slow

package integration

import "testing"

func TestFiftyReconnectsLeaveNothingBehind(t *testing.T) { reconnects(t, 50) }
