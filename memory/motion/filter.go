package motion

// What the filter believes of a box. All but the aspect are measured by the box's height.
const (
	x = iota // of the centre
	y
	aspect // width / height
	height
	parts
)

// Standard deviations (Wojke et al. 2017, DeepSORT, whose filter SAMURAI takes over): of where a part is and how it changes within
// a frame, in heights, and of the aspect, which has no unit.
const (
	placeNoise       = 1.0 / 20
	speedNoise       = 1.0 / 160
	aspectNoise      = 1e-2
	aspectSpeedNoise = 1e-5
	aspectSeenNoise  = 1e-1

	firstPlace = 2 * placeNoise // of the first box
	firstSpeed = 10 * speedNoise
)

// filter is a constant-velocity Kalman filter of a box's centre, aspect and height. Its noise has no correlation between the parts,
// so that the 8×8 covariance of the textbook falls into one of place and speed for each part.
type filter [parts]belief

// belief is one part's place and speed, in cells and cells a frame, and their covariance.
type belief struct {
	place, speed                         float64
	placeVariance, shared, speedVariance float64
}

func start(b Box) filter {
	var f filter
	tall := b.Y1 - b.Y0
	for i, v := range measured(b) {
		f[i].place = v
		f[i].placeVariance, f[i].speedVariance = variances(i, firstPlace*tall, firstSpeed*tall)
	}
	return f
}

// variances are those of a part's place and speed, from standard deviations that count for all parts but the aspect.
func variances(part int, place, speed float64) (float64, float64) {
	if part == aspect {
		place, speed = aspectNoise, aspectSpeedNoise
	}
	return place * place, speed * speed
}

// predict moves the box by so many frames, −1 for back in time. What is not known of the motion grows either way.
func (f *filter) predict(frames float64) {
	tall := f[height].place
	for i := range f {
		b := &f[i]
		place, speed := variances(i, placeNoise*tall, speedNoise*tall)
		b.place += frames * b.speed
		b.placeVariance += 2*frames*b.shared + frames*frames*b.speedVariance + place
		b.shared += frames * b.speedVariance
		b.speedVariance += speed
	}
}

// update takes in where the box was seen.
func (f *filter) update(seen Box) {
	tall := f[height].place
	for i, v := range measured(seen) {
		b := &f[i]
		deviation := placeNoise * tall
		if i == aspect {
			deviation = aspectSeenNoise
		}
		total := b.placeVariance + deviation*deviation
		gain, speedGain, surprise := b.placeVariance/total, b.shared/total, v-b.place
		b.place += gain * surprise
		b.speed += speedGain * surprise
		b.speedVariance -= speedGain * b.shared
		b.shared -= gain * b.shared
		b.placeVariance -= gain * b.placeVariance
	}
}

// box is where the object is believed to be.
func (f *filter) box() Box {
	w, h := f[aspect].place*f[height].place, f[height].place
	return Box{f[x].place - w/2, f[y].place - h/2, f[x].place + w/2, f[y].place + h/2}
}

func measured(b Box) [parts]float64 {
	return [parts]float64{x: (b.X0 + b.X1) / 2, y: (b.Y0 + b.Y1) / 2, aspect: (b.X1 - b.X0) / (b.Y1 - b.Y0), height: b.Y1 - b.Y0}
}
