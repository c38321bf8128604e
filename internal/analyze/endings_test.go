package analyze

import (
	"strings"
	"testing"
)

// TestStems has words with their stems as the published algorithms give them: from their
// sample vocabularies, and from the tests of Lucene.
func TestStems(t *testing.T) {
	for language, words := range map[string]string{
		"catalan": `llengües llengu llengua llengu abatuda abat abatut abat abatuts abat abbàssida abbas abbàssides abbas abbé abb abdalwadita abdalwad
			abdalwadites abdalwad abdicació abdic abdicar abdic abdicat abdic abdicà abdic gore gor gorg gorg gorga gorg gorges gorg gorgs gorg
			goril gor gorja gorj gorra gorr gorres gorr gosa gos gosadia gosad gosar gos`,
		"basque": `zaldi zaldi zaldiak zaldi barrutiaren barru barrutiek barru barrutien barru barrutietako barru barrutietan barru barrutik barrut
			barrutiko barru barrutitan barrutit basa basa basailu basailu basalto basal basamortu basam museoak museo museoan museo museoaren museoaren
			museoen museo museoetan museo museoko museo music music musika musi musikagile musika musikagilea musi musikagileak musi musikagilearen musi`,
		"armenian": `արծիվ արծ արծիվներ արծ աղոթում աղոթ աղոթք աղոթ աղոթքը աղոթ աղոթքի աղոթ աղոթքից աղոթ աղոթքներ աղոթ աղոթքներին աղոթ բանաձևեր բանաձև
			բանաձևերը բանաձև բանաձևերից բանաձև բանաձևում բանաձև բանաձևից բանաձև`,
		"greek": `άνθρωπος ανθρωπ ανθρώπους ανθρωπ πελατών πελατ ελέφαντας ελεφαντ μπαμπάδες μπαμπ μπακάληδων μπακαλ καφέδες καφ γραμματέας γραμματε
			γραμματέων γραμματ απόπλου αποπλ παππούδες παππ λάτρεων λατρ πέλεκυς πελεκ μέντωρ μεντωρ μέντορος μεντορ αγώνων αγων αέρηδες αερ γόης γο
			γόη γοη γόητες γοητ φορά φορ αγελάδες αγελαδ ζαχάρεων ζαχαρ τηλεόρασης τηλεορασ μαμάδων μαμ λεωφόρους λεωφορ αλεπούδες αλεπ γραμματέως γραμματ
			βιβλίο βιβλι βιβλία βιβλ πουλιού πουλ πρόβλημα προβλημ προβλήματος προβλημα προβλημάτων προβλημα πελάγη πελαγ γεγονότων γεγον βραδιών βραδ
			δόρατος δορατ κρέας κρε κρεάτων κρε λυκόφως λυκοφω λυκόφωτος λυκοφω μέσον μεσον μέσα μεσ ενδιαφέροντα ενδιαφεροντ ανακοινωθέντος ανακοινωθεντ
			σύμπαν συμπ σύμπαντα συμπαντ γάλακτος γαλακτ συνεχούς συνεχ συνήθεις συν συνήθων συνηθ βαθέος βαθε βαθιά βαθ βαθιάς βαθι ψηλότερος ψηλ
			ψηλότατος ψηλ ωραιότερος ωραι επιεικέστατος επιεικ ορίζοντας οριζ οριζόμουν οριζ ορίζεσαι οριζ ορίσει ορισ ορίστηκα οριστ οριστείς οριστ
			ορισμένος ορισμεν ανοίγομαι ανοιγ ανοίξου ανοιξ περνάω περν περνούσα περν πέρναγα περν περνώντας περν περνιέμαι περν περάστηκα περαστ
			πετούσα πετ πετιόμουν πετ καλούμαι καλ καλούμουν καλουμ καλείσαι καλεισα φοριέσαι φορ φορέθηκα φορεθ κρατώντας κρατ κράτησα κρατ κρατήσω κρατ`,
		"galician": `bons bon xamós xamón balões balón capitães capitão normais normal papéis papel posíbeis posíbel espanhóis espanhol caracois caracol
			cadrís cadril cadris cadril males mal mulleres muller luces luz luzes luz animás animal gases gas casas casa asturias asturias martes martes país país`,
	} {
		pairs := strings.Fields(words)
		for i := 0; i < len(pairs); i += 2 {
			if got := terms(t, `"`+language+`"`, pairs[i]); got != pairs[i+1] {
				t.Errorf("%s: %s becomes %q, want %q", language, pairs[i], got, pairs[i+1])
			}
		}
	}
}

// TestPlaces has names of towns in the forms in which people ask for them.
func TestPlaces(t *testing.T) {
	for _, test := range []struct{ language, name, asked string }{
		{"german", "Bremerhaven Häfen", "Hafen"}, {"german", "Sieben Burgen", "Burg"}, {"german", "Alte Häuser", "Haus"}, {"german", "Grosse Strassen", "Straße"},
		{"german", "Die Schönen Täler", "schöne Tal"}, {"german", "Königswinter", "Koenigswinter"},
		{"french", "Les Sables-d'Olonne", "sable Olonne"}, {"french", "Aix-les-Bains", "aix bain"}, {"french", "Les Trois Fontaines", "fontaine"},
		{"french", "L'Île-Rousse", "île"}, {"french", "Hautes-Alpes", "haut"}, {"french", "Grandes Plaines", "grand plaine"},
	} {
		has := " " + terms(t, `"`+test.language+`"`, test.name) + " "
		for _, term := range strings.Fields(terms(t, `"`+test.language+`"`, test.asked)) {
			if !strings.Contains(has, " "+term+" ") {
				t.Errorf("%s: %s has the terms%swhich lack %s of %s", test.language, test.name, has, term, test.asked)
			}
		}
	}
}
