package frames

import (
	"image"

	"maskstream/rle"
)

// bulk is the box around a mask's largest connected part. Specks far from the object are not in it.
func bulk(m rle.Mask) image.Rectangle {
	var all regions
	var before, column []bar
	last := -1
	m.EachColumn(func(x, y0, y1 int) {
		if x != last {
			before, column = column, before[:0]
			if x != last+1 {
				before = before[:0]
			}
			last = x
		}
		at := all.add(image.Rect(x, y0, x+1, y1))
		for _, left := range before {
			if left.y0 < y1 && y0 < left.y1 {
				all.join(at, left.region)
			}
		}
		column = append(column, bar{y0, y1, at})
	})
	return all.largest().box
}

// bar is a run of set pixels within one column.
type bar struct{ y0, y1, region int }

// region is a connected part of a mask, or was joined to one.
type region struct {
	parent int // of its root itself
	area   int
	box    image.Rectangle
}

type regions []region

func (r *regions) add(box image.Rectangle) int {
	at := len(*r)
	*r = append(*r, region{at, box.Dy(), box})
	return at
}

func (r regions) root(i int) int {
	for r[i].parent != i {
		r[i].parent = r[r[i].parent].parent
		i = r[i].parent
	}
	return i
}

func (r regions) join(i, j int) {
	i, j = r.root(i), r.root(j)
	if i != j {
		r[i].parent = j
		r[j].area += r[i].area
		r[j].box = r[j].box.Union(r[i].box)
	}
}

func (r regions) largest() (most region) {
	for i := range r {
		if r[i].parent == i && r[i].area > most.area {
			most = r[i]
		}
	}
	return most
}
