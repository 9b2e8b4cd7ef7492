package uselite

import "strings"

// Function words are the articles, prepositions, pronouns, conjunctions and auxiliaries that no sentence of a language
// does without, whatever it is about. An elided one is written with its apostrophe.
//
// A word is in no list when it is as common in another of these languages (a, in, no, do, as, an, on, so, was, will), is
// English as well (per, come, plus, die, also, man, pour, door, met), is a name developers write in lower case (ai, os,
// dos), or is a single letter, hence a variable.

var englishWords = set(`the of and to is that for with be are were been being by it its this from at which not have has
	had but can cannot should must may might would could shall when while if then than into only after before because
	does did any each every these those there their them they we our us you your who whose where why how what about over
	between through during without within via until since never always both either instead again still such other
	don' doesn' isn' won' can' didn' couldn' shouldn' wouldn' aren' wasn' weren' hasn' haven' it' that' we' there' let'
	you' they'`)

// foreignWords are those of the languages that are told from English by name. Others are found by their letters and by
// how badly the vocabulary fits them.
var foreignWords = []map[string]bool{
	// Italian
	set(`il lo la gli le un uno una di del dello della dei degli delle da dal dalla dalle nel nello nella nei nelle al alla
		alle allo agli sul sulla sui sulle con tra fra che è sono essere ha hanno viene vengono anche più quando
		dove perché se si ma ed questo questa questi queste quello quella ogni quindi prima dopo senza già deve devono
		può possono cui però oppure mentre l' dell' nell' all' sull' dall' un' quell' d' c'`),
	// German
	set(`der das den dem des ein eine einen einem einer eines und oder nicht ist sind wird werden wurde wurden haben mit für
		von vom zu zum zur auf aus bei beim nach über durch gegen ohne um im als auch nur noch schon wenn weil dass sich es
		wir sie kann können muss müssen soll sollte sollen darf keine kein keinen wie aber zwischen vor diese dieser dieses
		diesem jede jeder jedes alle bis damit`),
	// French
	set(`le la les un une des du de et ou où est sont être ont avec par sur sous dans ne pas que qui ce cette ces il elle
		ils elles nous vous en au aux se si mais donc comme chaque tous toutes doit doivent peut peuvent lors après avant
		depuis vers chez aussi d' l' qu' n' s' c' j' jusqu' lorsqu'`),
	// Spanish
	set(`el la los las un una unos unas de del al que en es son está están ser ha han con por para sin sobre entre se su
		sus lo le les como pero más cuando donde porque si ya muy también este esta estos estas cada todo todos todas debe
		deben puede pueden hay hasta desde antes después según ni tu tus nuestro
		nuestra`),
	// Portuguese
	set(`um uma de da das nos nas ao aos à às ou que em é são está ser foi com por para sem sobre entre não se seu sua
		seus suas como mais quando onde porque também este esta cada todo todos deve devem pode podem há até desde antes
		depois já pelo pela pelos pelas`),
	// Dutch
	set(`de het een van en op te dat niet voor zijn wordt worden naar bij ook maar als deze dit uit om aan wel geen moet
		moeten kan kunnen hebben heeft tot er dan nog`),
	// Polish
	set(`nie się że jest są dla przez od po jak oraz lub który która które przy może można musi tylko jeśli gdy ale jego tego
		tym być na do`),
	// Turkish
	set(`ve bir bu için ile olarak daha gibi değil çok her olan kadar sonra veya ya da de`),
	// Indonesian and Malay
	set(`yang dan di untuk dengan ini itu dari pada adalah tidak atau akan ke dalam oleh juga tersebut`),
	// Swedish, Danish and Norwegian
	set(`och att det som på är av för med till den inte en ett har om og er ikke af et der kan vi eller ved`),
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
