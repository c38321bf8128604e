package analyze

// The endings that Snowball's algorithms for Catalan, Basque and Armenian name (see the
// file NOTICE).

var catalanPlain = map[rune]rune{
	'á': 'a', 'à': 'a', 'é': 'e', 'è': 'e', 'í': 'i', 'ì': 'i', 'ï': 'i', 'ó': 'o', 'ò': 'o', 'ú': 'u', 'ü': 'u', '·': '.',
}

var catalanPronouns = stepOf(rule{`'s 'hi 'ho 'l 'ls -ls -la -les -li vos se nos -nos -us us 'n 'ns -n -ns 'm -me -m -te 't
	li lo los me sela selo selas selos le la las les ens ho hi`, change{in: in1}})

var catalanNouns = stepOf(
	rule{`ar atge formes icte ictes ell ells ella és ès esc essa et ets eta eres eries ers ina ines able ls
	ió itat itats itzar iva ives ivisme ius fer ment amen ament aments ments ot sfera al als era ana iste
	aire eria esa eses esos or ícia ícies icis ici íci ícis ària àries alla ció cions nça nces ó dor all
	il ístic enc enca ís issa issos íssem íssiu issem isseu ísseu ós osa dora dores dors adura ble bles ívol ívola dís
	egar ejar ificar itar ables adors idores idors adora ació doras dur dures allengües ant ants ancia ancies atòria
	atòries tori toris ats ions ota isam ors ora ores isament bilitat bilitats ivitat ivitats ari aris ionisme ionista
	ionistes ialista ialistes ialisme ialismes ud uts uds encia encies ència ències ïtat ïtats atiu atius atives ativa
	ativitat ativitats ible ibles assa asses assos ent ents íssim íssima íssims íssimes ìssem ìsseu ìssin ims ima imes
	isme ista ismes istes inia inies íinia ínies ita ites triu trius oses osos ient otes ots`, change{in: in1}},
	rule{`acions ada ades`, change{in: in2}},
	rule{`logía logíes logia logies logi logis lógica lógics lógiques`, change{in: in2, to: "log"}},
	rule{`ic ica ics iques`, change{in: in2, to: "ic"}},
	rule{`quíssim quíssims quíssimes quíssima`, change{in: in1, to: "c"}},
)

var catalanVerbs = stepOf(
	rule{`ador adora adors adores re ie ent ents udes arà eren ará arían arías arán arás aríais aria arian arien aries aràs
	aría aréis aríamos aremos ara aré arés erían erías erán erás eríais ería eréis eríamos eremos erá eré er erau erass
	irían irías irán irás iríais iría iréis iríamos iremos irá iré írem íreu íeu ia ies íem ìeu ien at ut uda ava aves
	avem ávem àvem àveu áveu aven au ats asseu esseu eresseu àsseu àssem àssim àssiu essen esses assen asses assim
	assiu éssen ésseu éssim éssiu éssem í ares àrem àreu àren aríem aríeu areu aren ant ïm ïu és ïen en es em am ams
	ïa ïes dre eix eixer tzar eixes ides ïdes it ït ïda aba ada ades ida ía iera ad ed its id ids ase iese aste iste an
	aban ían aran ieran asen iesen aron ieron ado ido iendo ió ar ir as ieu ii io ià ess essin essis ass assin assis
	essim èssim èssiu abas adas idas ías aras ieras ases ieses ís áis abais íais arais ierais aseis ieseis asteis
	isteis ados idos amos ábamos íamos imos ques áramos iéramos iésemos ásemos ira iran irem iren ires ireu iria irien
	iries irà iràs irè irìem irìeu isquen iguem igueu esqui esquin esquis eixi eixin eixis eixen eixo isin isis esques
	sis sin int iríem iríeu isc atges esca esquen issen isses issin issis isca issiu issim ïsc ïsca ïssin íssiu íssim
	ïssis ïguem ïgueu ïra ïren ïres ïsquen ïsques ïssen ïsses ïxo ïxen ïxes ïx ixo ixen ixes ix ixa inin inis ini ineu
	itza itzi itzeu itzis itzo itz itzà arem in às iï iïn iïs`, change{in: in1}},
	rule{`ando`, change{in: in2}},
)

var catalanRests = stepOf(
	rule{`os a o á à í ó e é eu iu is i ir s ì itz ï ïn ïs it`, change{in: in1}},
	rule{`iqu`, change{in: in1, to: "ic"}},
)

var basqueVerbs = stepOf(
	rule{`le la tzaile aldatu atu tzailea taile tailea pera gale galea gura kura kor korra or orra tun tuna gaitz gaitza
	kaitz kaitza ezin ezina tezin tezina errez erreza karri karria tzaga tzaka tzake tzeke ez eza tzez keta eta etan pen
	pena tze atze kuntza kunde kundea kune kunea kuna kera era kizun kizuna dura tura men mena go ago tio taldi taldia
	aldi aldia gune gunea bide bidea pide pidea gai gaia ki kin rekin kina kari karia ari tari etari gailu gailua kide
	kidea ide idea du ka kan an ean tu lari tatu rean tarazi arazi tzat bera dako`, change{in: inV}},
	rule{`garri garria tza`, change{in: in2}},
	rule{`atseden arabera baditu`, change{keep: true}},
)

var basqueNouns = stepOf(
	rule{`ari aria bizia kari karia lari laria tari taria zain zaina tzain tzaina zale zalea tzale tzalea aizun orde ordea
	burua ohi ohia kintza gintzo gintzu tzu tzua tzo tzoa kuntza talde taldea eria keria teria di za ada tara etara tra
	ta tegi tegia keta z zko zkoa ti tia tsu tsua zu zua bera pera zto ztoa asi asia gile gilea estu estua larri larria
	nahi nahia koi koia oi oia goi min mina dun duna duru durua duri duria os osa oso osoa ar ara tar dar dara tiar
	tiara liar liara gabe gabea kabe kabea ga ge kada tasun tasuna asun asuna go mendu mendua mentu mentua mendi mendia
	zio zioa zino zinoa zione zionea ezia degi degia egi egia toki tokia leku lekua gintza alde aldea kalde kaldea gune
	gunea une unea una pe pea gibel gibela ondo ondoa arte artea aurre aurrea etxe etxea ola ontzi ontzia gela denda
	taldi taldia aldi aldia te tea zaro zaroa taro taroa oro oroa aro aroa ero eroa eroz eroza ka kan kana tako etako
	takoa kote kotea tzar tzarra handi handia kondo kondoa skila no noa ño ñoa ska xka zka tila to toa tto ttoa txo txoa
	txu txua anda anga urren urrena gai gaia gei geia eme emea kume kumea sa ko eko koa ena enea ne nea kor korra ez eza
	eta etan ki kia kin kina tu tua du dua ek tarik tariko tan ordu ordua oste ostea tzara ra antza behar ro giro ak zp
	ket kail kaila ail kirri kirria ngo ngoa ñi sko sta koitz koitza na garren garrena kera gerren gerrena garna kide
	tz tuko`, change{in: inV}},
	rule{`ora garri garria or buru ren tza`, change{in: in2}},
	rule{`tzen ten en tatu`, change{in: in1}},
	rule{`joka`, change{to: "jok"}}, rule{`trako`, change{to: "tra"}}, rule{`minutuko`, change{to: "minutu"}},
	rule{`zehar geldi igaro aurka`, change{keep: true}},
)

var basqueAdjectives = stepOf(
	rule{`era ero go tate tade date dade keria ki to ro la gi larik lanik ik ztik rik`, change{in: inV}},
	rule{`zlea`, change{to: "z"}},
)

var armenianAdjectives = stepOf(rule{`րորդ երորդ ալի ակի որակ եղ ական արան են եկեն երեն որէն ին գին ովին լայն վուն պես իվ ատ ավետ կոտ բար`, change{}})

var armenianVerbs = stepOf(rule{`ա ացա եցա վե ացրի ացի եցի վեցի ալ ըալ անալ ենալ ացնալ ել ըել նել ցնել եցնել չել վել ացվել եցվել տել ատել ոտել կոտել
	ված ում վում ան ցան ացան ացրին ացին եցին վեցին ալիս ելիս ավ ացավ եցավ ալով ելով ար ացար եցար ացրիր ացիր եցիր վեցիր աց եց ացրեց ալուց
	ելուց ալու ելու աք ցաք ացաք ացրիք ացիք եցիք վեցիք անք ցանք ացանք ացրինք ացինք եցինք վեցինք`, change{}})

var armenianNouns = stepOf(rule{`որդ ույթ ուհի ցի իլ ակ յակ անակ իկ ուկ ան պան ստան արան եղէն յուն ություն ածո իչ ուս ուստ գար վոր ավոր ոց անօց ու ք չեք
	իք ալիք անիք վածք ույք ենք ոնք ունք մունք իչք արք`, change{}})

var armenianEndings = stepOf(rule{`սա վա ամբ դ անդ ությանդ վանդ ոջդ երդ ներդ ուդ ը անը ությանը վանը ոջը երը ները ի վի երի ների անում երում ներում ն ան
	ության վան ին երին ներին ությանն երն ներն ուն ոջ ությանս վանս ոջս ով անով վով երով ներով եր ներ ց ից վանից ոջից վից երից ներից ցից
	ոց ուց`, change{in: in2}})
