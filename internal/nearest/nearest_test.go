package nearest

import "testing"

func TestNameSuggestsWhatWasMeantOrNothing(t *testing.T) {
	candidates := []string{"image_size", "num_maskmem", "sigmoid_scale_for_mem_enc", "é"}
	for _, c := range []struct{ name, want string }{
		{"imagesize", "image_size"},
		{"image_size", "image_size"},
		{"num_maskmen", "num_maskmem"},
		{"sigmoid_scale_mem_enc", "sigmoid_scale_for_mem_enc"},
		{"something_else", ""},
		{"", ""},
	} {
		if got := Name(c.name, candidates); got != c.want {
			t.Errorf("%q: suggested %q, want %q", c.name, got, c.want)
		}
	}
	if got := Name("tpc", []string{"udp", "tcp"}); got != "tcp" {
		t.Errorf("a swap: suggested %q", got)
	}
	if got := Name("x", nil); got != "" {
		t.Errorf("suggested %q out of nothing", got)
	}
}
