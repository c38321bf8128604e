package demo

import (
	"fmt"
	"iter"
	"strings"
	"time"
)

// The shop's three databases. A product lies in the partition of its taxonomy, whose levels are joined by '#'; a
// user's login data and addresses lie in the user's partition; an order's partition holds everything about it.

type product struct {
	ID          string   `json:"_id"`
	Type        string   `json:"type"`
	Taxonomy    []string `json:"taxonomy"`
	Keywords    []string `json:"keywords"`
	ProductID   string   `json:"productid"`
	Brand       string   `json:"brand"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Colours     []string `json:"colours"`
	Price       cents    `json:"price"`
	Delivery    int      `json:"delivery"`
	Image       string   `json:"image"`
}

// family is a kind of product: the taxonomy is its partition.
type family struct {
	taxonomy []string
	brand    string
	name     string
}

func families() []family {
	return []family{
		{[]string{"Home", "Kitchen", "Small Appliances"}, "Salter", "Digital Kitchen Timer"},
		{[]string{"Home", "Kitchen", "Cookware"}, "Lodge", "Cast-Iron Pan"},
		{[]string{"Home", "Garden", "Tools"}, "Spear", "Border Spade"},
		{[]string{"Home", "Lighting", "Lamps"}, "Anglepoise", "Reading Lamp"},
		{[]string{"Electronics", "Audio", "Headphones"}, "Grado", "Open Headphones"},
		{[]string{"Electronics", "Computers", "Keyboards"}, "Cherry", "Quiet Keyboard"},
		{[]string{"Sport", "Fitness", "Weights"}, "York", "Kettlebell"},
		{[]string{"Toys", "Puzzles", "Jigsaws"}, "Gibsons", "Wooden Jigsaw"},
	}
}

func familyOf(number int) family {
	f := families()
	return f[number%len(f)]
}

// productsDatabase is the products by category. Its search index is the article's, in which
// words of two fields run together; that for all categories keeps them apart, and counts.
func productsDatabase() database {
	return database{
		name: "products", partitioned: true, samples: sampleProducts, generated: products,
		design: []request{
			{"PUT", "/_design/mydesigndoc", `{"indexes":{"mysearchindex":{"index":` + quoted(wordsOfProduct) + `}}}`},
			{"PUT", "/_design/everywhere", `{"options":{"partitioned":false},"indexes":{"words":{"analyzer":"english","index":` + quoted(fieldsOfProduct) + `}}}`},
		},
	}
}

const wordsOfProduct = `function (doc) {
  if (doc.type == 'product') {
    var words = doc.taxonomy.join(' ') + doc.keywords.join(' ') + doc.brand + ' ' + doc.name + ' ' + doc.description + ' ' + doc.colours.join(' ')
    index('default', words, {store: false, index: true})
  }
}`

const fieldsOfProduct = `function (doc) {
  if (doc.type == 'product') {
    index('default', [doc.brand, doc.name, doc.description].concat(doc.keywords, doc.colours).join(' '))
    index('name', doc.name, {store: true})
    index('brand', doc.brand, {store: true, facet: true})
    index('price', doc.price, {facet: true})
  }
}`

func productCount(size int) int { return max(len(families()), size/5) }

// productPrice depends on the number alone, because an order's item repeats it.
func productPrice(number int) cents { return cents(random("price", number).IntN(20000) + 499) }

// productID names the n-th product; the samples have lower numbers.
func productID(number int) string { return fmt.Sprint(2000000 + number) }

// productName is how baskets and items of orders name the n-th product.
func productName(number int) string {
	f := familyOf(number)
	return fmt.Sprintf("%s - %s %d", f.brand, f.name, number)
}

func sampleProducts() []any {
	kitchen := []string{"Home", "Kitchen", "Small Appliances"}
	return []any{
		product{
			ID: "Home#Kitchen#Small Appliances:1000042", Type: "product", Taxonomy: kitchen,
			Keywords: []string{"Salter", "Scales", "Weight", "Digital", "Kitchen"}, ProductID: "1000042",
			Brand: "Salter", Name: "Digital Kitchen Scales",
			Description: "Slim electronic scales for up to 5 kg, with Aquatronic for liquids. 15 year guarantee. Green",
			Colours:     []string{"red", "green", "black", "blue"}, Price: 1499, Image: "assets/img/0gmsnghhew.jpg",
		},
		product{
			ID: "Home#Kitchen#Small Appliances:88752", Type: "product", Taxonomy: kitchen,
			Keywords: []string{"Kenwood", "Mixer", "Stand", "Kitchen"}, ProductID: "88752",
			Brand: "Kenwood", Name: "Stand Mixer", Description: "Mixes, kneads and whisks, with a bowl of five litres.",
			Colours: []string{"white", "silver"}, Price: 19999, Image: "assets/img/88752.jpg",
		},
	}
}

func products(size int) iter.Seq2[[]byte, error] {
	colours := []string{"red", "green", "blue", "black", "white", "silver"}
	return each(productCount(size), func(n int) []any {
		r, f, id := random("product", n), familyOf(n), productID(n)
		return []any{product{
			ID: strings.Join(f.taxonomy, "#") + ":" + id, Type: "product", Taxonomy: f.taxonomy,
			Keywords: append([]string{f.brand}, strings.Fields(f.name)...), ProductID: id,
			Brand: f.brand, Name: fmt.Sprintf("%s %d", f.name, n),
			Description: "A favourite of ours under " + f.taxonomy[1] + ".",
			Colours:     []string{pick(r, colours[:3]), pick(r, colours[3:])},
			Price:       productPrice(n), Delivery: r.IntN(5), Image: "assets/img/" + id + ".jpg",
		}}
	})
}

// user is what a login needs.
type user struct {
	ID       string `json:"_id"`
	Type     string `json:"type"`
	UserID   string `json:"userid"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Password string `json:"password"`
	Salt     string `json:"salt"`
	Active   bool   `json:"active"`
	Verified bool   `json:"email_verified"`
}

type userDelivery struct {
	ID      string `json:"_id"`
	Type    string `json:"type"`
	UserID  string `json:"userid"`
	Name    string `json:"name"`
	Address string `json:"address"`
	Default bool   `json:"default"`
}

func usersDatabase() database {
	return database{
		name: "users", partitioned: true, samples: sampleUsers, generated: users,
		design: []request{{"POST", "/_index", `{"index":{"partial_filter_selector":{"type":"user","active":true,"email_verified":true},"fields":["email"]},` +
			`"ddoc":"users-by-email","type":"json","partitioned":false}`}},
	}
}

// sampleUser is whose the articles' order is.
const sampleUser = "user19952622"

func sampleUsers() []any {
	id := sampleUser
	return []any{
		user{
			ID: id + ":auth", Type: "user", UserID: id, Name: "Bob Smith", Email: "bob.smith@aol.com",
			Password: digits("password of", id), Salt: digits("salt of", id), Active: true, Verified: true,
		},
		userDelivery{ID: id + ":delivery1", Type: "userdelivery", UserID: id, Name: "home", Address: "19 Front Street, Darlington, DL5 1TY", Default: true},
		userDelivery{ID: id + ":delivery2", Type: "userdelivery", UserID: id, Name: "work", Address: "22 Central Tower, Newcastle, NE1 4JD"},
	}
}

func userCount(size int) int { return max(10, size/5) }

func userID(number int) string { return fmt.Sprintf("user%08d", number) }

func userName(number int) string {
	r := random("user name", number)
	first := []string{"Ada", "Bea", "Carl", "Dora", "Emil", "Frida", "Georg", "Hanna", "Ivo", "Jule"}
	last := []string{"Albers", "Brandt", "Castle", "Dawes", "Ellery", "Fuchs", "Grey", "Hale"}
	return pick(r, first) + " " + pick(r, last)
}

func users(size int) iter.Seq2[[]byte, error] {
	return each(userCount(size), func(n int) []any {
		r, id := random("user", n), userID(n)
		rows := []any{user{
			ID: id + ":auth", Type: "user", UserID: id, Name: userName(n), Email: id + "@shop.example",
			Password: digits("password of", id), Salt: digits("salt of", id),
			Active: r.IntN(10) > 0, Verified: r.IntN(5) > 0,
		}}
		places := 1 + r.IntN(3)
		preferred := 1 + r.IntN(places)
		for a := 1; a <= places; a++ {
			rows = append(rows, userDelivery{
				ID: fmt.Sprintf("%s:delivery%d", id, a), Type: "userdelivery", UserID: id,
				Name: []string{"home", "work", "parents"}[a-1], Address: address(n, a), Default: a == preferred,
			})
		}
		return rows
	})
}

// address is a user's a-th address, in one line; each user has a first one.
func address(user, a int) string {
	r := random("address", user*10+a)
	streets := []string{"Station Road", "Mill Lane", "High Street", "Park Avenue", "Church Walk"}
	towns := []string{"Middlesbrough", "Bristol", "Leeds", "York", "Bath"}
	return fmt.Sprintf("%d %s, %s, %c%c%d %d%c%c", 1+r.IntN(120), pick(r, streets), pick(r, towns),
		'A'+r.IntN(26), 'A'+r.IntN(26), 1+r.IntN(20), 1+r.IntN(9), 'A'+r.IntN(26), 'A'+r.IntN(26))
}

// ordersBegin is the first day of the three years in which the generated orders were placed. They end before 2019,
// where the articles look for theirs.
func ordersBegin() time.Time { return time.Date(2016, 1, 1, 0, 0, 0, 0, time.UTC) }
