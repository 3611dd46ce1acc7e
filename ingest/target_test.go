package ingest

import (
	"strings"
	"testing"
)

func TestNoPasswordIsShownWhereTheSchemeIsForgottenOrMistyped(t *testing.T) {
	for _, url := range []string{"admin:geheim@cam/main", "//admin:geheim@cam/main", "rtsp:/admin:geheim@cam", "rtsp//admin:geheim@cam", "/admin:geheim@cam", "rstp://admin:geheim@cam/main"} {
		_, err := parseTarget(Options{URL: url}.withDefaults())
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := parseTarget(Options{URL: "day@2.mp4"}.withDefaults()); err == nil || !strings.Contains(err.Error(), "opening day@2.mp4:") {
		t.Errorf("a file that is not there: %v", err)
	}
}
