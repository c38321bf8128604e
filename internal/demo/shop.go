package demo

import (
	"fmt"
	"iter"
	"time"
)

// The shop's three databases. A product lies in the partition of its category, whose levels are joined by '#'; a
// user's login data and addresses lie in the user's partition; an order's partition holds everything about it.

type product struct {
	ID          string   `json:"_id"`
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Category    []string `json:"category"`
	Colours     []string `json:"colours"`
	Price       cents    `json:"price"`
	Stock       int      `json:"stock"`
	Available   bool     `json:"available"`
}

// family is a kind of product and the partition it belongs to.
type family struct {
	partition string
	levels    []string
	code      string
	noun      string
}

func families() []family {
	return []family{
		{"Home#Kitchen#Small Appliances", []string{"Home", "Kitchen", "Small Appliances"}, "HKSA", "Salter Scales"},
		{"Home#Kitchen#Cookware", []string{"Home", "Kitchen", "Cookware"}, "HKCW", "Cast-Iron Pan"},
		{"Home#Garden#Tools", []string{"Home", "Garden", "Tools"}, "HGTO", "Border Spade"},
		{"Home#Lighting#Lamps", []string{"Home", "Lighting", "Lamps"}, "HLLA", "Reading Lamp"},
		{"Electronics#Audio#Headphones", []string{"Electronics", "Audio", "Headphones"}, "EAHP", "Headphones"},
		{"Electronics#Computers#Keyboards", []string{"Electronics", "Computers", "Keyboards"}, "ECKB", "Keyboard"},
		{"Sport#Fitness#Weights", []string{"Sport", "Fitness", "Weights"}, "SFWE", "Kettlebell"},
		{"Toys#Puzzles#Jigsaws", []string{"Toys", "Puzzles", "Jigsaws"}, "TPJS", "Jigsaw"},
	}
}

func productCount(size int) int { return max(len(families()), size/5) }

// productPrice depends on the number alone, because an order's item repeats it.
func productPrice(number int) cents { return cents(random("price", number).IntN(20000) + 499) }

func productCode(number int) string {
	f := families()
	return fmt.Sprintf("%s%05d", f[number%len(f)].code, number)
}

func productName(number int) string {
	f := families()
	return fmt.Sprintf("%s No. %d", f[number%len(f)].noun, number)
}

func products(size int) iter.Seq2[[]byte, error] {
	colours := []string{"red", "green", "blue", "black", "white", "silver"}
	return each(productCount(size), func(n int) []any {
		r := random("product", n)
		f := families()[n%len(families())]
		name := productName(n)
		stock := r.IntN(60)
		return []any{product{
			ID: f.partition + ":" + productCode(n), Type: "product", Name: name,
			Description: name + ", a favourite of ours under " + f.levels[1] + ".",
			Category:    f.levels, Colours: []string{pick(r, colours[:3]), pick(r, colours[3:])},
			Price: productPrice(n), Stock: stock, Available: stock > 0,
		}}
	})
}

type credentials struct {
	ID       string `json:"_id"`
	Type     string `json:"type"`
	UserID   string `json:"userid"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Active   bool   `json:"active"`
	Verified bool   `json:"email_verified"`
	Joined   string `json:"joined"`
}

type address struct {
	ID       string `json:"_id"`
	Type     string `json:"type"`
	UserID   string `json:"userid"`
	Name     string `json:"name"`
	Street   string `json:"street"`
	Town     string `json:"town"`
	Postcode string `json:"postcode"`
	Default  bool   `json:"default"`
}

func userCount(size int) int { return max(10, size/5) }

func userID(number int) string { return fmt.Sprintf("user%05d", number) }

func userName(number int) string {
	r := random("user name", number)
	first := []string{"Ada", "Bea", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivo", "Jule"}
	last := []string{"Albers", "Brandt", "Castle", "Dawes", "Ellery", "Fuchs", "Grey", "Hale"}
	return pick(r, first) + " " + pick(r, last)
}

func users(size int) iter.Seq2[[]byte, error] {
	return each(userCount(size), func(n int) []any {
		r, id := random("user", n), userID(n)
		rows := []any{credentials{
			ID: id + ":auth", Type: "auth", UserID: id, Name: userName(n),
			Email:  fmt.Sprintf("%s@shop.example", id),
			Active: r.IntN(10) > 0, Verified: r.IntN(5) > 0,
			Joined: iso(moment(r, time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC), 365)),
		}}
		places := 1 + r.IntN(3)
		preferred := 1 + r.IntN(places)
		for a := 1; a <= places; a++ {
			rows = append(rows, delivery(n, a, a == preferred))
		}
		return rows
	})
}

func delivery(user, number int, preferred bool) address {
	r, id := random("address", user*10+number), userID(user)
	streets := []string{"Station Road", "Mill Lane", "High Street", "Park Avenue", "Church Walk"}
	towns := []string{"Middlesbrough", "Bristol", "Leeds", "York", "Bath"}
	return address{
		ID: fmt.Sprintf("%s:delivery%d", id, number), Type: "address", UserID: id, Name: userName(user),
		Street: fmt.Sprintf("%d %s", 1+r.IntN(120), pick(r, streets)), Town: pick(r, towns),
		Postcode: fmt.Sprintf("%c%c%d %d%c%c", 'A'+r.IntN(26), 'A'+r.IntN(26), 1+r.IntN(20), 1+r.IntN(9), 'A'+r.IntN(26), 'A'+r.IntN(26)),
		Default:  preferred,
	}
}
