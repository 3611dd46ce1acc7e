// Package garbage gives memory back where weights pass through: they are read, turned and copied on their way into a network,
// each time hundreds of megabytes that the collector would let lie until as much again has been asked for.
package garbage

import "runtime/debug"

// large is how many bytes are worth a collection, which takes some ten milliseconds.
const large = 16 << 20

// Return collects garbage and returns it to the system if the caller is about to copy, or has done with, so many bytes.
func Return(bytes int) {
	if bytes >= large {
		debug.FreeOSMemory()
	}
}
