package checkpoint

import "fmt"

// storageTypes are PyTorch's typed storages.
func storageType(name string) (dtype, bool) {
	switch name {
	case "FloatStorage":
		return f32, true
	case "HalfStorage":
		return f16, true
	case "BFloat16Storage":
		return bf16, true
	case "DoubleStorage":
		return f64, true
	case "LongStorage":
		return i64, true
	case "IntStorage":
		return i32, true
	case "ShortStorage":
		return i16, true
	case "CharStorage":
		return i8, true
	case "ByteStorage":
		return u8, true
	case "BoolStorage":
		return flag, true
	}
	return "", false
}

// The functions that a state dict calls, restated below.
var (
	orderedDict      = global{"collections", "OrderedDict"}
	rebuildTensor    = global{"torch._utils", "_rebuild_tensor_v2"}
	rebuildParameter = global{"torch._utils", "_rebuild_parameter"}
)

func (g global) allowed() bool {
	switch g {
	case orderedDict, rebuildTensor, rebuildParameter:
		return true
	}
	_, ok := storageType(g.name)
	return ok && g.module == "torch"
}

// rebuild stands for calling one of those functions.
func rebuild(callee, arguments any) (any, error) {
	args, ok := arguments.(tuple)
	if !ok {
		return nil, fmt.Errorf("%w: arguments that are no tuple", ErrDamaged)
	}
	switch callee {
	case orderedDict:
		if len(args) == 0 {
			return &dict{}, nil
		}
		return nil, fmt.Errorf("%w: an OrderedDict made from arguments", ErrUnsafe)
	case rebuildParameter: // (data, requires_grad, backward_hooks)
		if len(args) == 3 {
			if t, ok := args[0].(tensorRef); ok {
				return t, nil
			}
		}
		return nil, fmt.Errorf("%w: a parameter without a tensor", ErrDamaged)
	case rebuildTensor: // (storage, storage_offset, size, stride, requires_grad, backward_hooks[, metadata])
		return tensorFrom(args)
	}
	return nil, fmt.Errorf("%w: a call of something that is no function", ErrUnsafe)
}

func tensorFrom(args tuple) (tensorRef, error) {
	var t tensorRef
	if len(args) < 6 {
		return t, fmt.Errorf("%w: a tensor with %d arguments", ErrDamaged, len(args))
	}
	var ok [4]bool
	t.storage, ok[0] = args[0].(storageRef)
	t.offset, ok[1] = args[1].(int64)
	t.shape, ok[2] = ints(args[2])
	t.strides, ok[3] = ints(args[3])
	if ok != [4]bool{true, true, true, true} {
		return t, fmt.Errorf("%w: a tensor whose storage, offset, size or stride is something else", ErrDamaged)
	}
	return t, nil
}

func ints(value any) ([]int, bool) {
	items, ok := value.(tuple)
	if !ok {
		return nil, false
	}
	numbers := make([]int, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok {
			return nil, false
		}
		numbers[i] = int(n)
	}
	return numbers, true
}

// persistent reads the id ("storage", type, key, location, number of elements) under which a pickle names a storage.
func persistent(value any) (storageRef, error) {
	id, ok := value.(tuple)
	if !ok || len(id) != 5 || id[0] != "storage" {
		return storageRef{}, fmt.Errorf("%w: a persistent id that names no storage", ErrUnsafe)
	}
	class, ok1 := id[1].(global)
	key, ok2 := id[2].(string)
	count, ok3 := id[4].(int64)
	d, ok4 := storageType(class.name)
	if !ok1 || !ok2 || !ok3 || !ok4 || count < 0 {
		return storageRef{}, fmt.Errorf("%w: a storage without type, key or size", ErrDamaged)
	}
	return storageRef{dtype: d, key: key, count: count}, nil
}
