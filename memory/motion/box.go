package motion

// Box is a mask's extent in cells of its map: X0 ≤ x < X1. The zero value is that of an empty mask.
type Box struct{ X0, Y0, X1, Y1 float64 }

// BoxOf is the extent of the positive logits of a map of the given width.
func BoxOf(logits []float32, width int) Box {
	x0, y0, x1, y1 := width, len(logits)/width, 0, 0
	for at, v := range logits {
		if v > 0 {
			x, y := at%width, at/width
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x+1), max(y1, y+1)
		}
	}
	if x0 >= x1 {
		return Box{}
	}
	return Box{float64(x0), float64(y0), float64(x1), float64(y1)}
}

// Empty says that there is nothing in the box.
func (b Box) Empty() bool { return !(b.X0 < b.X1 && b.Y0 < b.Y1) }

// IoU is the intersection of two boxes over their union, 0 where one is empty.
func (b Box) IoU(o Box) float64 {
	if b.Empty() || o.Empty() {
		return 0
	}
	inter := max(0, min(b.X1, o.X1)-max(b.X0, o.X0)) * max(0, min(b.Y1, o.Y1)-max(b.Y0, o.Y0))
	return inter / (b.area() + o.area() - inter)
}

func (b Box) area() float64 { return (b.X1 - b.X0) * (b.Y1 - b.Y0) }
