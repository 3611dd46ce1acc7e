// Package memory is one object's memory bank: what each frame left behind, and which of it the next frame attends to
// (SAM 2, modeling/sam2_base.py, _prepare_memory_conditioned_features).
//
// A frame is a conditioning frame where the object was prompted on it, and a recent frame otherwise. A [Bank] keeps both kinds
// by frame number within its [Retention]; [Bank.Select] picks for a frame and a direction the conditioning memories, the six
// recent ones, and the object pointers of the conditioning and the last fifteen frames. The direction is a sign that is read here
// and nowhere else. Where the policy is motion-aware, the recent ones are chosen by quality (SAMURAI), and every entry carries what
// is known of the object's motion (package motion), so that a pass goes on from whichever frame a bank remembers.
//
//	bank := memory.NewBank(memory.Everything, nil, nil)
//	err := bank.Add(12, memory.Recent, entry)                 // takes ownership
//	chosen := bank.Select(13, memory.Forward, policy)
//	attention := chosen.Attention()                           // borrowed until the bank changes
package memory
