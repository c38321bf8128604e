package auth

import (
	"context"
	"fmt"
	"net/url"
)

// AsHeader is the header in which a server administrator names the user, escaped as in a
// path, as whom to read: what that user may see is answered, and nothing else.
const AsHeader = "X-Sectional-As"

// impersonate makes an administrator the user whose escaped name is given. Forbidden for anybody
// else; Invalid if there is no such user.
func (a *Authenticator) impersonate(ctx context.Context, s *settings, c *Caller, escaped string) error {
	if !c.IsAdmin() {
		return forbidden("Only server administrators see what others see.")
	}
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return badRequest(AsHeader + " is not escaped as in a path.")
	}
	u, err := a.user(ctx, s, name)
	if err != nil {
		return err
	}
	if u == nil {
		return badRequest(fmt.Sprintf("There is no user %q.", name))
	}
	by := *c
	*c = *u.caller(by.Handler)
	c.Address, c.By = by.Address, &by
	return nil
}
