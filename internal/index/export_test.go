package index

// Tasks tells how many tasks are remembered, and how many goroutines build.
func (x *Indexes) Tasks() (remembered, building int) {
	x.tasks.Lock()
	defer x.tasks.Unlock()
	return len(x.tasks.by), len(x.tasks.building)
}
