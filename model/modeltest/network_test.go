package modeltest_test

import (
	"errors"
	"testing"

	"maskstream/model"
	"maskstream/model/modeltest"
	"maskstream/tensor"
)

const size = 128

func open(t *testing.T) (*modeltest.Network, modeltest.Scene, *tensor.Pool) {
	t.Helper()
	pool := tensor.NewPool("network", tensor.Host(), 0)
	t.Cleanup(func() { tensor.NoLeaks(t, pool) })
	return modeltest.New(pool, size), modeltest.Scene{Pool: pool, Size: size, Width: 320, Height: 160}, pool
}

func TestADiscFollowsADot(t *testing.T) {
	network, scene, _ := open(t)
	frame := scene.Frame(0, modeltest.Dot{X: 100, Y: 60, R: 20}, modeltest.Dot{X: 250, Y: 60, R: 20})
	features, err := network.EncodeImage(frame.Pixels)
	if err != nil {
		t.Fatal(err)
	}
	frame.Release()
	first, err := network.DecodeMasks(features, nil, []model.Prompt{{Points: []model.Point{{X: 42, Y: 50, Label: model.Positive}}}})
	if err != nil {
		t.Fatal(err)
	}
	// The dot is at (100/320, 60/160) of the low-resolution map of 32.
	if logits := first.Logits.Float32s(); logits[12*32+10] <= 0 || logits[12*32+25] > 0 || first.ObjectScores[0] <= 0 {
		t.Errorf("logits on the dot %v, on the other dot %v, score %v", logits[12*32+10], logits[12*32+25], first.ObjectScores[0])
	}
	memory, err := network.EncodeMemory(features, first.Logits, first.ObjectScores, []bool{true})
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	features.Release()

	for _, c := range []struct {
		name    string
		dots    []modeltest.Dot
		present bool
	}{
		{"it moved a little", []modeltest.Dot{{X: 110, Y: 66, R: 20}}, true},
		{"it is gone", nil, false},
		{"only the other one is there", []modeltest.Dot{{X: 250, Y: 60, R: 20}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := scene.Frame(1, c.dots...)
			defer next.Release()
			features, err := network.EncodeImage(next.Pixels)
			if err != nil {
				t.Fatal(err)
			}
			defer features.Release()
			one := memory.Index(0)
			defer one.Release()
			embedding, err := network.AttendMemory(features, []model.Attention{{Memories: []model.SpatialMemory{{Features: one, Temporal: 6}}}})
			if err != nil {
				t.Fatal(err)
			}
			defer embedding.Release()
			p, err := network.DecodeMasks(features, embedding, []model.Prompt{{}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Release()
			if got := p.ObjectScores[0] > 0; got != c.present {
				t.Errorf("present: %v", got)
			}
			if on := p.Logits.Float32s()[13*32+11]; (on > 0) != c.present || !c.present && on != model.NoObjectLogit {
				t.Errorf("logit on the dot: %v", on)
			}
		})
	}
	memory.Release()
}

func TestBrokenRulesAreErrors(t *testing.T) {
	network, scene, pool := open(t)
	frame := scene.Frame(0)
	defer frame.Release()
	features, err := network.EncodeImage(frame.Pixels)
	if err != nil {
		t.Fatal(err)
	}
	defer features.Release()
	memory, _ := pool.New(tensor.BFloat16, 64, 8)
	defer memory.Release()
	clear(memory.Bytes())
	small, _ := pool.New(tensor.Float32, 4, 4)
	defer small.Release()
	point := model.Point{Label: model.Positive}
	one := model.Attention{Memories: []model.SpatialMemory{{Features: memory}}}
	for name, call := range map[string]func() error{
		"pixels of another shape": func() error { _, err := network.EncodeImage(features.Embedding); return err },
		"an empty batch":          func() error { _, err := network.AttendMemory(features, nil); return err },
		"nothing to attend to":    func() error { _, err := network.AttendMemory(features, make([]model.Attention, 1)); return err },
		"ragged memories":         func() error { _, err := network.AttendMemory(features, []model.Attention{one, {}}); return err },
		"a temporal position too far": func() error {
			_, err := network.AttendMemory(features, []model.Attention{{Memories: []model.SpatialMemory{{Features: memory, Temporal: 7}}}})
			return err
		},
		"a pointer of another shape": func() error {
			_, err := network.AttendMemory(features, []model.Attention{{Pointers: []model.Pointer{{Vector: small}}}})
			return err
		},
		"ragged points": func() error {
			_, err := network.DecodeMasks(features, nil, []model.Prompt{{Points: []model.Point{point}}, {}})
			return err
		},
		"an embedding for another batch": func() error {
			_, err := network.DecodeMasks(features, features.Embedding, make([]model.Prompt, 2))
			return err
		},
		"previous logits of another shape": func() error {
			_, err := network.DecodeMasks(features, nil, []model.Prompt{{Logits: small}})
			return err
		},
		"a mask of another shape": func() error { _, err := network.DecodeMasks(features, nil, []model.Prompt{{Mask: small}}); return err },
		"scores for another batch": func() error {
			_, err := network.EncodeMemory(features, small, []float32{1}, []bool{true})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	broken := errors.New("broken")
	network.Fail = func(verb string) error {
		if verb == "EncodeMemory" {
			return broken
		}
		return nil
	}
	if _, err := network.EncodeMemory(features, small, nil, nil); !errors.Is(err, broken) {
		t.Errorf("asked to fail: %v", err)
	}
	if got := network.Calls.EncodeImage.Load(); got != 2 {
		t.Errorf("%d encodings counted", got)
	}
}

func TestAlternativesAreTheDotsWithinReach(t *testing.T) {
	network, scene, _ := open(t)
	frame := scene.Frame(0, modeltest.Dot{X: 100, Y: 60, R: 10}, modeltest.Dot{X: 140, Y: 60, R: 10}, modeltest.Dot{X: 300, Y: 60, R: 10})
	defer frame.Release()
	features, err := network.EncodeImage(frame.Pixels)
	if err != nil {
		t.Fatal(err)
	}
	defer features.Release()
	prompt := model.Prompt{Points: []model.Point{{X: 44, Y: 48, Label: model.Positive}}, Multimask: true, Alternatives: true}
	p, err := network.DecodeMasks(features, nil, []model.Prompt{prompt})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	for k, want := range []struct {
		iou    float32
		bright int // place of a positive logit in the map of 32; −1 for none
	}{{0.95, 12*32 + 10}, {0.9, 12*32 + 10}, {0.88, 12*32 + 14}, {0.1, -1}} {
		logits := p.Alternatives.Logits.Float32s()[k*32*32:][:32*32]
		positive := 0
		for _, v := range logits {
			if v > 0 {
				positive++
			}
		}
		if got := p.Alternatives.PredictedIoU[k]; got != want.iou {
			t.Errorf("mask %d: predicted IoU %v, want %v", k, got, want.iou)
		}
		if want.bright < 0 && positive > 0 || want.bright >= 0 && logits[want.bright] <= 0 {
			t.Errorf("mask %d lies elsewhere: %d positive logits", k, positive)
		}
	}
	if p.PredictedIoU[0] != p.Alternatives.PredictedIoU[1] {
		t.Errorf("the answer is predicted at %v", p.PredictedIoU[0])
	}
	second := prompt
	second.Alternatives = false
	if _, err := network.DecodeMasks(features, nil, []model.Prompt{prompt, second}); err == nil {
		t.Error("a batch that disagrees on alternatives is accepted")
	}
}
