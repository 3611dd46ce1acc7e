package propagate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"maskstream/memory"
	"maskstream/model"
	"maskstream/tensor"
)

func TestHolesAreFilled(t *testing.T) {
	for _, c := range []struct {
		name     string
		area     int
		from, to string // rows between slashes: # is foreground, . background, + filled, 0 a logit of exactly 0, ? NaN
	}{
		{"a hole of one cell", 8, "###/#.#/###", "###/#+#/###"},
		{"a logit of exactly zero is background", 8, "###/#0#/###", "###/#+#/###"},
		{"area 0 is off", 0, "###/#.#/###", "###/#.#/###"},
		{"as large as allowed", 3, "#####/#...#/#####", "#####/#+++#/#####"},
		{"one cell too large", 2, "#####/#...#/#####", "#####/#...#/#####"},
		{"diagonal neighbours are one hole", 1, "####/#.##/##.#/####", "####/#.##/##.#/####"},
		{"and filled as one", 2, "####/#.##/##.#/####", "####/#+##/##+#/####"},
		{"a bay at the border counts as well", 2, ".##/.##/###", "+##/+##/###"},
		{"a corner", 1, "##./###/###", "##+/###/###"},
		{"the other diagonal at the right border does not wrap around", 1, "##./.##/###", "##+/+##/###"},
		{"a small picture of background only is one component", 9, ".../.../...", "+++/+++/+++"},
		{"a large one stays", 8, ".../.../...", ".../.../..."},
		{"foreground only", 8, "###/###", "###/###"},
		{"several at once", 2, "#.#.#/#####/..#../#####", "#+#+#/#####/++#++/#####"},
		{"NaN is neither filled nor part of a hole", 1, "###?/#.?#/####", "###?/#+?#/####"},
		{"NaN separates", 1, "####/.?.#/####", "####/+?+#/####"},
		{"one row", 2, "#..#...#", "#++#...#"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := strings.Split(c.from, "/")
			logits := []float32{}
			for _, r := range strings.Join(rows, "") {
				logits = append(logits, map[rune]float32{'#': 3, '.': -2, '0': 0, '?': float32(math.NaN())}[r])
			}
			before := slices.Clone(logits)
			fillHoles(logits, len(rows), len(rows[0]), c.area)
			var got strings.Builder
			for i, v := range logits {
				if i > 0 && i%len(rows[0]) == 0 {
					got.WriteByte('/')
				}
				switch {
				case v != v:
					got.WriteByte('?')
				case v == holeLogit && before[i] <= 0:
					got.WriteByte('+')
				case v != before[i]:
					got.WriteByte('!')
				case v > 0:
					got.WriteByte('#')
				default:
					got.WriteByte('.')
				}
			}
			if got.String() != strings.ReplaceAll(c.to, "0", ".") {
				t.Errorf("got %s, want %s", got.String(), c.to)
			}
		})
	}
}

// A blinking hole in what the network answers shows where it is filled and where not.
func TestHolesAreFilledInWhatIsStoredButNotInTrackedMemory(t *testing.T) {
	w := newWorld(t, nil)
	var memorised []float32 // the hole, as the memory encoder sees it
	w.network.Encoded = func(logits *tensor.Tensor, _ []float32, _ []bool) {
		memorised = append(memorised, logits.Float32s()[8*lowRes+6])
	}
	w.tracker.network = holed{w.network}
	prompted := w.prompt(0, 1, click(first(0)), both(0)...)
	w.commit()
	w.pass(0, 0)
	tracked := w.step(1, memory.Forward, both(1)...)
	if memorised[0] != holeLogit {
		t.Errorf("the memory of a prompted frame is made from a mask with holes: %v", memorised[0])
	}
	if memorised[1] != -3 {
		t.Errorf("the memory of a tracked frame is made from a mask without holes: %v", memorised[1])
	}
	for frame, shown := range []seen{prompted[0], tracked[0]} {
		e, _ := w.tracker.find(1).bank.Find(frame)
		if got := e.Logits.Float32s()[8*lowRes+6]; got != holeLogit || shown.area == 0 {
			t.Errorf("frame %d: the stored mask has %v in the hole", frame, got)
		}
	}
}

// holed punches one cell out of the middle of every mask on the first dot.
type holed struct{ model.Network }

func (h holed) DecodeMasks(f *model.Features, e *tensor.Tensor, p []model.Prompt) (*model.Prediction, error) {
	prediction, err := h.Network.DecodeMasks(f, e, p)
	if err == nil {
		prediction.Logits.Float32s()[8*lowRes+6] = -3
	}
	return prediction, err
}
