package ort

/*
#include <malloc.h>

// One block at a time, small ones as ever. musl has no such setting and returns large blocks by itself.
static void map_from(int bytes) {
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}
*/
import "C"

// The sizes from which on C's allocator maps a block by itself, so that freeing it returns its memory to the system.
const (
	mapWhileOpening = 1 << 20
	mapWhileRunning = 32 << 20 // where the allocator's own rule ends once it has seen large blocks: buffers that come and go stay
)

// returnFreed makes C's allocator return freed weights to the system until the function that it returns is called. Opening a
// graph copies each weight several times; by its own rule the allocator would keep half of that for good.
func returnFreed() (end func()) {
	C.map_from(mapWhileOpening)
	return func() { C.map_from(mapWhileRunning) }
}
