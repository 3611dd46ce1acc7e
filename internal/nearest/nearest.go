// Package nearest finds the name somebody probably meant, for the "did you mean" of an error message.
//
//	nearest.Name("imagesize", []string{"image_size", "num_maskmem"})   // "image_size"
package nearest

// Name returns the candidate with the fewest edits (insert, delete, replace, swap neighbours) from name, the first of equals; ""
// where even that one is farther than a third of the longer name and so not worth suggesting.
func Name(name string, candidates []string) string {
	best, distance := "", 0
	for _, candidate := range candidates {
		if limit := max(len(name), len(candidate)) / 3; abs(len(name)-len(candidate)) > limit {
			continue
		} else if d := edits(name, candidate); d <= limit && (best == "" || d < distance) {
			best, distance = candidate, d
		}
	}
	return best
}

// edits is the restricted distance of Damerau (1964): cell i, j of the table is that of the first i bytes of a and the first j of b.
func edits(a, b string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		table[i][0] = i
	}
	for j := range table[0] {
		table[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := table[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			table[i][j] = min(replace, table[i-1][j]+1, table[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}

func abs(i int) int { return max(i, -i) }
