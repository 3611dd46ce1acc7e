package amg

import "math"

// box is x0, y0, x1, y1. Of a crop x1 and y1 lie behind the last pixel, of a mask they are the last pixel, as in the reference.
type box [4]int

// xywh is x, y, width, height as the reference reports them: a mask of one pixel is 0 wide.
func (b box) xywh() [4]float64 {
	return [4]float64{float64(b[0]), float64(b[1]), float64(b[2] - b[0]), float64(b[3] - b[1])}
}

// crop is a part of the picture that is searched by itself; layer 0 is the whole picture.
type crop struct {
	box
	layer int
}

func (c crop) width() int  { return c.box[2] - c.box[0] }
func (c crop) height() int { return c.box[3] - c.box[1] }

// crops are the picture and the overlapping crops of each layer (utils/amg.py, generate_crop_boxes), down the columns. A crop of
// a picture so small that nothing of it is left is none.
func (o Options) crops(width, height int) []crop {
	all := []crop{{box{0, 0, width, height}, 0}}
	for layer := 1; layer <= o.CropNLayers; layer++ {
		n := 1 << layer // a side
		overlap := int(o.CropOverlapRatio * float64(min(width, height)) * (2 / float64(n)))
		length := func(whole int) int { return (overlap*(n-1) + whole + n - 1) / n }
		w, h := length(width), length(height)
		for i := range n {
			for k := range n {
				x, y := (w-overlap)*i, (h-overlap)*k
				c := crop{box{x, y, min(x+w, width), min(y+h, height)}, layer}
				if c.width() > 0 && c.height() > 0 {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// points are where to point in a crop, in its pixels, along the rows.
func (o Options) points(c crop) [][2]float32 {
	grid := o.grid(c.layer)
	points := make([][2]float32, len(grid))
	for i, p := range grid {
		points[i] = [2]float32{float32(p[0] * float64(c.width())), float32(p[1] * float64(c.height()))}
	}
	return points
}

// grid is a layer's points in 0…1 (build_point_grid).
func (o Options) grid(layer int) [][2]float64 {
	if o.PointGrids != nil {
		return o.PointGrids[layer]
	}
	n := pointsPerSide(*o.PointsPerSide, o.CropNPointsDownscale, layer)
	grid := make([][2]float64, 0, n*n)
	at := func(i int) float64 { return (float64(i) + 0.5) / float64(n) }
	for y := range n {
		for x := range n {
			grid = append(grid, [2]float64{at(x), at(y)})
		}
	}
	return grid
}

func pointsPerSide(n, downscale, layer int) int {
	return int(float64(n) / math.Pow(float64(downscale), float64(layer)))
}

// edgeDistance is how near, in pixels, a box may not come to a border of its crop that is none of the picture's.
const edgeDistance = 20

// cutOff says whether a mask's box, in the picture, ends where its crop does and the picture does not (is_box_near_crop_edge).
func (c crop) cutOff(mask box, width, height int) bool {
	picture := box{0, 0, width, height}
	near := func(a, b int) bool { return max(a-b, b-a) <= edgeDistance }
	for i, at := range mask {
		if near(at, c.box[i]) && !near(at, picture[i]) {
			return true
		}
	}
	return false
}
