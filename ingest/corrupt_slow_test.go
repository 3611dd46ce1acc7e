//go:build slow

package ingest

import "testing"

func TestHundredsOfDamagedFilesNeitherCrashNorHang(t *testing.T) { readDamaged(t, 100) }
