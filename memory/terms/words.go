package terms

import "strings"

// irregular gives the base of English forms that no stemmer reaches, so that "who bought it" finds what says "buy". Forms
// that are more often another word stay out: bound, left, bit, rose, lay.
var irregular = pairsOf(`
	ate eat, eaten eat, beaten beat, became become, began begin, begun begin, bent bend, blew blow, blown blow, bought buy,
	broke break, broken break, brought bring, built build, burnt burn, came come, caught catch, chose choose, chosen choose,
	crept creep, dealt deal, dug dig, drank drink, drunk drink, drawn draw, drew draw, dreamt dream, driven drive, drove drive,
	fallen fall, fell fall, fed feed, felt feel, fled flee, flew fly, flown fly, forbidden forbid, forgave forgive, forgot forget,
	forgotten forget, fought fight, found find, froze freeze, frozen freeze, gave give, given give, gone go, got get, gotten get,
	grew grow, grown grow, heard hear, held hold, hid hide, hidden hide, hung hang, kept keep, knew know, known know, laid lay,
	learnt learn, led lead, lent lend, lit light, lost lose, made make, meant mean, met meet, mistook mistake, overrode override,
	overridden override, overwritten overwrite, overwrote overwrite, paid pay, ran run, rang ring, rebuilt rebuild, rewritten rewrite,
	rewrote rewrite, ridden ride, rode ride, risen rise, said say, sang sing, sank sink, sat sit, saw see, seen see, sent send,
	shaken shake, shook shake, shot shoot, shown show, shrank shrink, shrunk shrink, slept sleep, slid slide, sold sell, sought seek,
	spent spend, split split, spoke speak, spoken speak, spun spin, stole steal, stolen steal, stood stand, struck strike, stuck stick,
	sung sing, sunk sink, swam swim, swept sweep, swum swim, taken take, taught teach, threw throw, thrown throw, thought think,
	told tell, took take, tore tear, torn tear, understood understand, undertook undertake, undone undo, went go, withdrawn withdraw,
	withdrew withdraw, woke wake, woken wake, won win, wore wear, worn wear, wove weave, woven weave, written write, wrote write,
	children child, feet foot, geese goose, halves half, indices index, knives knife, matrices matrix, men man, mice mouse,
	people person, teeth tooth, vertices vertex, wives wife, women woman`)

// abbreviations gives the words that developers shorten, in every sense that is usual. The short form stays a term of its
// own; the long ones come with it, so that either finds the other.
var abbreviations = pairsOf(`
	a11y accessibility, addr address, admin administrator, arg argument, args argument, attr attribute, attrs attribute,
	auth authentication authorization, authn authentication, authz authorization, bool boolean, buf buffer, cert certificate,
	certs certificate, cfg configuration, cmd command, conf configuration, config configuration, configs configuration, conn connection,
	conns connection, ctx context, db database, dbs database, dep dependency, deps dependency, dict dictionary, dir directory,
	dirs directory, doc document, docs document, elem element, env environment, err error, errs error, expr expression, fn function,
	func function, funcs function, i18n internationalization, idx index, impl implementation, js javascript, k8s kubernetes,
	l10n localization, lib library, libs library, msg message, msgs message, obj object, param parameter, params parameter,
	perf performance, pg postgresql, pkg package, pkgs package, postgres postgresql, prod production, proto protocol, ptr pointer,
	pwd password, passwd password, ref reference, refs reference, repo repository, repos repository, req request, reqs request,
	resp response, spec specification, specs specification, stats statistic, stmt statement, str string, tmp temporary, tx transaction,
	txn transaction, util utility, utils utility`)

// pairsOf reads "short long long, …".
func pairsOf(list string) map[string][]string {
	out := map[string][]string{}
	for entry := range strings.SplitSeq(list, ",") {
		words := strings.Fields(entry)
		out[words[0]] = words[1:]
	}
	return out
}
