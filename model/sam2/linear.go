package sam2

import (
	"slices"
	"strconv"
)

// linear is y = x·weight + bias with weight in×out, while a graph is built: layers that nothing lies between are multiplied
// together here, in float64, and cost nothing at run time.
type linear struct {
	weight  []float32
	bias    []float32
	in, out int
}

// then is the layer that does l and after it next.
func (l linear) then(next linear) linear {
	bias := multiply(l.bias, next.weight, 1, l.out, next.out)
	for i, b := range next.bias {
		bias[i] += b
	}
	return linear{multiply(l.weight, next.weight, l.in, l.out, next.out), bias, l.in, next.out}
}

// affine is what is left of a normalisation: x·weight + bias, channel by channel.
type affine struct{ weight, bias []float32 }

// repeated is a for times pixels side by side.
func (a affine) repeated(times int) affine {
	return affine{slices.Repeat(a.weight, times), slices.Repeat(a.bias, times)}
}

// after is the layer that does a and after it l.
func (l linear) after(a affine) linear {
	diagonal := make([]float32, l.in*l.out)
	for i, w := range l.weight {
		diagonal[i] = float32(float64(w) * float64(a.weight[i/l.out]))
	}
	bias := multiply(a.bias, l.weight, 1, l.in, l.out)
	for i, b := range l.bias {
		bias[i] += b
	}
	return linear{diagonal, bias, l.in, l.out}
}

// scaled is the layer with its result multiplied by f.
func (l linear) scaled(f float64) linear {
	return linear{scale(l.weight, f), scale(l.bias, f), l.in, l.out}
}

// part is the layer that computes only count outputs, from first on.
func (l linear) part(first, count int) linear {
	order := make([]int, count)
	for i := range order {
		order[i] = first + i
	}
	return l.columns(order)
}

// columns is the layer with the outputs named: output i is output order[i] of l.
func (l linear) columns(order []int) linear {
	p := linear{make([]float32, l.in*len(order)), make([]float32, len(order)), l.in, len(order)}
	for to, from := range order {
		p.bias[to] = l.bias[from]
		for row := range l.in {
			p.weight[row*p.out+to] = l.weight[row*l.out+from]
		}
	}
	return p
}

func scale(x []float32, f float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(float64(v) * f)
	}
	return y
}

// multiply is a·b for a m×k and b k×n.
func multiply(a, b []float32, m, k, n int) []float32 {
	out, row := make([]float32, m*n), make([]float64, n)
	for i := range m {
		clear(row)
		for j := range k {
			x := float64(a[i*k+j])
			for c, y := range b[j*n : (j+1)*n] {
				row[c] += x * float64(y)
			}
		}
		for c, y := range row {
			out[i*n+c] = float32(y)
		}
	}
	return out
}

// transpose of x rows×columns.
func transpose(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for r := range rows {
		for c := range columns {
			y[c*rows+r] = x[r*columns+c]
		}
	}
	return y
}

func itoa(i int) string { return strconv.Itoa(i) }
