package imports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtractJVM(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		extract  extractor
		text     string
		packages []string
		types    []string
		imports  []string
	}{
		"Java": {extractJava, `/* package no; */
@Deprecated(since = "package no;")
package com.acme . orders;

import com.acme.users.User; import static com.acme.users.User.of;
import com.acme.money.*;
import static com.acme.money.Currency.*;
import module java.base;
import module.path.Thing;
// import com.acme.No;

@Table({A.class, B.class})
public final class Order<T> { class Inner { } char c = '"'; String s = "} class No {"; }
interface Priced { }
enum State { OPEN }
@interface Checked { }
record Line(int amount) { }
`, []string{"com.acme.orders"}, []string{"Order", "Priced", "State", "Checked", "Line"},
			[]string{"5 com.acme.users.User", "5 com.acme.users.User.of", "6 com.acme.money.*", "7 com.acme.money.Currency.*",
				"9 module.path.Thing"}},
		"Java text blocks": {extractJava, "class A { String s = \"\"\"\n  } \\\"\"\" class No \"\n  \"\"\"; }\nclass B {}", nil, []string{"A", "B"}, nil},
		"Kotlin": {extractKotlin, "#!/usr/bin/env kotlin\n" + `@file:JvmName("Orders")
@file:Suppress("unused")
package com.acme.` + "`in`" + `.orders
/* /* nested */ import no.No */
import com.acme.users.User
import com.acme.users.Group as Team
import com.acme.money.*; import com.acme.` + "`object`" + `.Thing

annotation class Marker
data class Order(val id: Int, val f: () -> Unit = {}) : Base(object : X { fun no() {} }) { fun no() {} ; class No }
fun interface Handler { fun handle() }
object Registry
typealias Ids = List<Int>
internal suspend fun <T : Comparable<T>> List<T>.sorted2(by: (T) -> Int): List<T> = object : No<T> {}
fun (() -> Unit).twice() { val no = 1 }
val <T> List<T>.last2: T get() = this[0]
const val LIMIT = "${run { "}" }}${2} { class No"
val lazyOne by lazy { 1 }
private val String.size2 get() = 1
val raw = """ ${"}"} " fun no() ""${'"'} """
fun after(x: Any) = x::class
`, []string{"com.acme.in.orders"},
			[]string{"Orders", "Marker", "Order", "Handler", "Registry", "Ids", "sorted2", "twice", "last2", "LIMIT", "lazyOne", "size2", "raw", "after"},
			[]string{"6 com.acme.users.User", "7 com.acme.users.Group", "8 com.acme.money.*", "8 com.acme.object.Thing"}},
		"Scala 2": {extractScala, `package com.acme
package orders

import com.acme.users.{User, Group => Team, Hidden => _, _}, money.Amount
import _root_.java.util.List

/** import no.No */
@deprecated("x") final case class Order(id: Int) { import Order._; class No; def no = 'sym }
object Order { val q = s"${ if (x) "}" else '"' } import no" }
sealed trait State
package inner { class Deep; object Other { class No } }
class Last
`, []string{"com.acme", "com.acme.orders", "com.acme.orders.inner"}, []string{"Order", "Order", "State", "Deep", "Other", "Last"},
			[]string{"4 com.acme.users.User", "4 com.acme.users.Group", "4 com.acme.users._", "4 money.Amount", "5 _root_.java.util.List",
				"8 Order._"}},
		"a package object": {extractScala, "package com.acme\npackage object orders extends Base with Other[{ type X }] {\n  type Id = Int\n  def of(x: Int) = { val no = 1 }\n}",
			[]string{"com.acme", "com.acme.orders"}, []string{"Id", "of"}, nil},
		"Scala 3": {extractScala, `package com.acme.orders

import com.acme.users.*
import com.acme.users.{User as U, given Ordering[?], *}
import com.acme.money.given
import com.acme.Money as M

enum State:
  case Open
  def no = 1

class Order(id: Int):
  import Order.*
  def no = s"it's"
  class No

def topLevel(x: Int): Int = x
type Id = Int
`, []string{"com.acme.orders"}, []string{"State", "Order", "topLevel", "Id"},
			[]string{"3 com.acme.users.*", "4 com.acme.users.User", "4 com.acme.users.given", "4 com.acme.users.*", "5 com.acme.money.given",
				"6 com.acme.Money", "13 Order.*"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.extract([]byte(test.text))
			if diff := cmp.Diff(test.packages, got.Packages); diff != "" {
				t.Errorf("packages (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.types, got.Types); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.imports, shortly(got.Imports)); diff != "" {
				t.Errorf("imports (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzExtractJVM(f *testing.F) {
	f.Add([]byte("package a.b\nimport c.{d => e, _}\nimport static f.*;\nfun <T> List<T>.g() = \"${h}${'i'}\"\nclass J"))
	for _, piece := range hostile {
		f.Add([]byte(piece))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkFacts(t, text, extractJava(text))
		checkFacts(t, text, extractKotlin(text))
		checkFacts(t, text, extractScala(text))
	})
}
