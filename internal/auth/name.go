package auth

import "strconv"

// maxName is the most bytes that the name of a user has. Names are kept by what remembers
// users and attempts, and are logged, before anybody knows whose they are.
const maxName = 1024

// CheckName refuses a name that no user can have. Errors: Invalid.
func CheckName(name string) error {
	if len(name) > maxName {
		return badRequest("The name of a user has " + strconv.Itoa(maxName) + " bytes at most.")
	}
	return nil
}
