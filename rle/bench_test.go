package rle

import (
	"fmt"
	"math"
	"testing"
)

// person is a map of low×low logits with a standing figure of about a tenth of the picture; large, one of about half of it
// with a wavy outline.
func person(low int) []float32 {
	return figure(low, 0.09, 0.32, 0.01)
}

func large(low int) []float32 {
	return figure(low, 0.38, 0.42, 0.04)
}

func figure(low int, rx, ry, wave float64) []float32 {
	logits := make([]float32, low*low)
	for i := range logits {
		x, y := (float64(i%low)+0.5)/float64(low)-0.5, (float64(i/low)+0.5)/float64(low)-0.5
		angle := math.Atan2(y, x)
		edge := 1 + wave/rx*math.Sin(24*angle)
		logits[i] = float32(max(-20, min(20, 40*(edge-math.Hypot(x/rx, y/ry)))))
	}
	return logits
}

func BenchmarkLogitsToRLE1080p(b *testing.B) {
	for _, low := range []int{64, 256} {
		for name, logits := range map[string][]float32{"person": person(low), "large": large(low)} {
			b.Run(fmt.Sprintf("%s/%d", name, low), func(b *testing.B) {
				var encoder Encoder
				var mask Mask
				b.ReportAllocs()
				for b.Loop() {
					mask = encoder.FromLogits(logits, low, low, 1080, 1920)
				}
				b.ReportMetric(float64(len(mask.Runs)), "runs")
			})
		}
	}
}

func BenchmarkEightObjectsNonOverlapping1080p(b *testing.B) {
	maps := make([][]float32, 8)
	for i := range maps {
		maps[i] = person(256)
		copy(maps[i], maps[i][i*12:]) // beside one another, each over its neighbour
	}
	var encoder Encoder
	b.ReportAllocs()
	for b.Loop() {
		encoder.FromLogitsNonOverlapping(maps, 256, 256, 1080, 1920)
	}
}

func BenchmarkCodec1080p(b *testing.B) {
	for name, logits := range map[string][]float32{"person": person(256), "large": large(256)} {
		mask := new(Encoder).FromLogits(logits, 256, 256, 1080, 1920)
		counts, bitmap := mask.Counts(), make([]byte, 1080*1920)
		if err := mask.Decode(bitmap); err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				FromBits(1080, 1920, bitmap)
			}
		})
		b.Run("decode/"+name, func(b *testing.B) {
			for b.Loop() {
				if err := mask.Decode(bitmap); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("parse/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(1080, 1920, counts); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("format/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mask.Counts()
			}
		})
		b.Run("iou/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := IoU(mask, mask); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
