// Package nearest finds the name somebody probably meant, for the "did you mean" of an error message.
//
//	nearest.Name("imagesize", []string{"image_size", "num_maskmem"})   // "image_size"
package nearest

// Name returns the candidate with the fewest edits (insert, delete, replace) from name, the first of equals; "" where even
// that one is farther than a third of the longer name and so not worth suggesting.
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

// edits is the Levenshtein distance, one row of the table at a time.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

func abs(i int) int { return max(i, -i) }
