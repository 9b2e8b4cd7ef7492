package imports

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveJVM(t *testing.T) {
	t.Parallel()
	tree := treeOf{
		"settings.gradle.kts":                                 "include(\":orders\", \":users\")\ninclude(\n  \":money-api\",\n)\nproject(\":money-api\").projectDir = file(\"libs/money\")\n",
		"orders/build.gradle":                                 "dependencies {\n  implementation project(':users')\n  api(projects.moneyApi)\n  // project(':gone')\n}\n",
		"users/build.gradle.kts":                              "dependencies { implementation(project(path = \":money-api\")) }\n",
		"orders/src/main/java/com/acme/orders/Order.java":     "package com.acme.orders; class Order { static class Line {} static int MAX; } enum State { OPEN }",
		"orders/src/main/java/com/acme/orders/Cart.java":      "package com.acme.orders; import com.acme.users.User;",
		"orders/src/test/java/com/acme/orders/OrderTest.java": "package com.acme.orders; class OrderTest {}",
		"orders/src/main/kotlin/com/acme/orders/totals.kt":    "package com.acme.orders\nfun total() = 1\nval Order.sum get() = 1",
		"users/src/main/java/com/acme/users/User.java":        "package com.acme.users; class User {}",
		"users/src/main/java/com/acme/shared/Clock.java":      "package com.acme.shared; class Clock {}",
		"libs/money/src/main/java/com/acme/shared/Clock.java": "package com.acme.shared; class Clock {}",
		"other/build.gradle":                                  "",
		"other/src/main/java/com/acme/shared/Clock.java":      "package com.acme.shared; class Clock {}",
		"orders/src/main/scala/com/acme/scala/Main.scala":     "package com.acme\npackage scala\nimport orders.Order\nimport Order.Line\nimport util.Log\nobject Main",
		"orders/src/main/scala/com/acme/scala/package.scala":  "package com.acme\npackage object scala extends Hidden",
		"orders/src/main/scala/com/acme/scala/util/Log.scala": "package com.acme.scala.util\nclass Log",
		"orders/src/main/java/NoPackage.java":                 "class NoPackage {}",
	}
	const (
		java  = "orders/src/main/java/com/acme/orders/"
		scala = "orders/src/main/scala/com/acme/scala/"
	)
	tests := map[string]struct {
		file string
		want map[Import]string
	}{
		"Java": {java + "Cart.java", map[Import]string{
			{Spec: "com.acme.users.User"}:            "users/src/main/java/com/acme/users/User.java",
			{Spec: "com.acme.orders.Order.Line"}:     java + "Order.java",
			{Spec: "com.acme.orders.Order.MAX"}:      java + "Order.java",
			{Spec: "com.acme.orders.Order.*"}:        java + "Order.java",
			{Spec: "com.acme.orders.State"}:          java + "Order.java",
			{Spec: "com.acme.orders.TotalsKt.total"}: "orders/src/main/kotlin/com/acme/orders/totals.kt",
			{Spec: "com.acme.users.*"}:               "users/src/main/java/com/acme/users/User.java",
			{Spec: "java.util.List"}:                 "(external)",
			{Spec: "com.other.X"}:                    "(external)",
			{Spec: "com.acme.billing.Bill"}:          "(external)",
			{Spec: "com.acme.users.Gone"}:            "(unresolved)",
			{Spec: "com.acme.users.gen.Proto"}:       "(unresolved)",
			{Spec: "com.acme.shared.Clock"}:          "libs/money/src/main/java/com/acme/shared/Clock.java users/src/main/java/com/acme/shared/Clock.java",
		}},
		"a package without its tests": {scala + "Main.scala", map[Import]string{
			{Spec: "com.acme.orders.*"}: java + "Cart.java " + java + "Order.java orders/src/main/kotlin/com/acme/orders/totals.kt",
		}},
		"the module's own before others": {"users/src/main/java/com/acme/users/User.java", map[Import]string{
			{Spec: "com.acme.shared.Clock"}: "users/src/main/java/com/acme/shared/Clock.java",
		}},
		"Kotlin": {"orders/src/main/kotlin/com/acme/orders/totals.kt", map[Import]string{
			{Spec: "com.acme.orders.sum"}:    "orders/src/main/kotlin/com/acme/orders/totals.kt",
			{Spec: "com.acme.users.User"}:    "users/src/main/java/com/acme/users/User.java",
			{Spec: "kotlin.math.max"}:        "(external)",
			{Spec: "com.acme.orders.absent"}: "(unresolved)",
		}},
		"Scala": {scala + "Main.scala", map[Import]string{
			{Spec: "orders.Order", Line: 3}:             java + "Order.java",
			{Spec: "Order.Line", Line: 4}:               java + "Order.java",
			{Spec: "util.Log", Line: 5}:                 scala + "util/Log.scala",
			{Spec: "util._", Line: 5}:                   scala + "util/Log.scala",
			{Spec: "_root_.scala.util.Try"}:             "(external)",
			{Spec: "com.acme.scala.Main"}:               scala + "Main.scala",
			{Spec: "com.acme.scala.inherited"}:          scala + "package.scala",
			{Spec: "scala.collection.mutable", Line: 5}: "(external)",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resolverOf(t, tree)
			got := map[Import]string{}
			for i := range test.want {
				got[i] = meaning(r.Resolve(test.file, i))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("meanings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManifestsOfJVM(t *testing.T) {
	t.Parallel()
	const pom = `<?xml version="1.0" encoding="ISO-8859-1"?>
<project>
  <parent><groupId>com.acme</groupId><artifactId>root</artifactId></parent>
  <artifactId>web</artifactId>
  <dependencyManagement><dependencies>
    <dependency><groupId>com.acme</groupId><artifactId>managed</artifactId></dependency>
  </dependencies></dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>${project.groupId}</groupId><artifactId>core</artifactId>
    </dependency>
    <dependency><groupId>org.other</groupId><artifactId>core</artifactId></dependency>
  </dependencies>
</project>`
	r := resolverOf(t, treeOf{
		"maven/pom.xml":          "<project><groupId>com.acme</groupId><artifactId>root</artifactId></project>",
		"maven/web/pom.xml":      pom,
		"maven/core/pom.xml":     "<project><groupId>com.acme</groupId><artifactId>core</artifactId></project>",
		"maven/managed/pom.xml":  "<project><groupId>com.acme</groupId><artifactId>managed</artifactId></project>",
		"maven/broken/pom.xml":   "<project><a",
		"gradle/settings.gradle": "include 'app',\n  'order-service:api' // 'no'\nincludeBuild 'no'\n",
		"gradle/build.gradle":    "project(':app') {\n  dependencies {\n    implementation project(':order-service:api')\n  }\n}\ndependencies { api projects.app }\n",
		"gradle/app/src/A.java":  "", "gradle/order-service/api/build.gradle": "",
		"sbt/build.sbt":   "lazy val core = (project in file(\"modules/core\")).settings(name := \"core\")\nlazy val web = project\n  .dependsOn(core % \"test->test;compile->compile\", gone)\n",
		"sbt/web/X.scala": "", "sbt/modules/core/Y.scala": "",
	})
	want := []ManifestDependency{
		{Manifest: "gradle/build.gradle", Line: 3, From: "gradle/app", To: "gradle/order-service/api"},
		{Manifest: "gradle/build.gradle", Line: 6, From: "gradle", To: "gradle/app"},
		{Manifest: "maven/web/pom.xml", Line: 9, From: "maven/web", To: "maven/core"},
		{Manifest: "sbt/build.sbt", Line: 3, From: "sbt/web", To: "sbt/modules/core"},
	}
	if diff := cmp.Diff(want, r.Dependencies()); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	if unread := r.Unread(); len(unread) != 1 || unread[0].Path != "maven/broken/pom.xml" {
		t.Errorf("unread manifests: %v", unread)
	}
}
