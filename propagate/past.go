package propagate

import (
	"slices"

	"maskstream/memory"
	"maskstream/model"
)

// Snapshot is a tracker of its own for a pass back in time that starts from frame, while t goes on: of each object it has the
// prompted frames, and what is remembered of frame itself, which the pass shows as it is and goes on from. So it follows what t has
// followed up to there, and not only what the prompts show. An object without a prompted frame, or whose id is not in ids, is
// left out; ids may be nil for all. The two trackers share the network, and so belong to one goroutine. The caller closes it.
func (t *Tracker) Snapshot(frame int, ids []int) *Tracker {
	retention := memory.Live(t.policy, 1) // nothing in it will be corrected
	retention.Direction = memory.Reverse
	options := t.options
	options.Retention = retention
	s := &Tracker{options: options, policy: t.policy, start: &frame, at: frame, scratch: t.scratch}
	s.network = roomy{t.network, s.MakeRoom} // once t has no more room to make
	s.room = func(err error) error {
		if t.room(err) == nil {
			return nil
		}
		return s.MakeRoom(err)
	}
	for _, o := range t.objects {
		if o.prompted() && (ids == nil || slices.Contains(ids, o.id)) {
			s.objects = append(s.objects, &object{id: o.id, bank: o.bank.Snapshot(frame, retention), points: map[int][]model.Point{}, tracked: map[int]memory.Direction{}})
		}
	}
	return s
}

// Hold says that an object is being tracked over frames that have gone by, and how far that has come: what the pass still attends
// to is kept, though Step goes on with newer frames in between.
func (t *Tracker) Hold(id, frame int) {
	if o := t.find(id); o != nil {
		o.bank.Hold(frame)
	}
}

// LetGo ends Hold.
func (t *Tracker) LetGo(id int) {
	if o := t.find(id); o != nil {
		o.bank.LetGo()
	}
}
