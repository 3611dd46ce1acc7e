//go:build slow

package integration

import "testing"

func TestTrial12HundredReloads(t *testing.T) { reloads(t, 100) }
