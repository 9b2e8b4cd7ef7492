package draft

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// service is one of a compose file: built from a folder of the project, or an image that comes from elsewhere.
type service struct {
	name   string
	folder string   // that it is built from; "" for none, or for the whole project
	built  bool     // from the project
	image  string   // without registry and tag; "" for one that is built
	needs  []string // names of services
}

var (
	composeFile    = regexp.MustCompile(`^(?:docker-)?compose\.ya?ml$`)
	composeVariant = regexp.MustCompile(`^(?:docker-)?compose([.-][\w-]+)?\.ya?ml$`)
)

// services reads the compose files of the project: those of the usual name, else variants of it. Services of one name in
// several files are one.
func (p *project) services() []service {
	var files, variants []string
	for _, f := range p.files {
		base := path.Base(f.Path)
		switch {
		case f.Foreign || f.Side:
		case composeFile.MatchString(base):
			files = append(files, f.Path)
		case composeVariant.MatchString(base):
			variants = append(variants, f.Path)
		}
	}
	if len(files) == 0 {
		files = variants
	}
	byName := map[string]service{}
	for _, f := range files {
		for _, s := range p.compose(f) {
			if known, ok := byName[s.name]; !ok || s.built && !known.built {
				byName[s.name] = s
			}
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b service) int { return strings.Compare(a.name, b.name) })
}

func (p *project) compose(file string) []service {
	var content struct {
		Services map[string]struct {
			Build     any    `yaml:"build"`
			Image     string `yaml:"image"`
			DependsOn any    `yaml:"depends_on"`
		} `yaml:"services"`
	}
	if yaml.Unmarshal([]byte(p.read(file)), &content) != nil {
		return nil
	}
	var out []service
	for _, name := range slices.Sorted(maps.Keys(content.Services)) {
		s := content.Services[name]
		made := service{name: name, needs: dependsOn(s.DependsOn)}
		context, dockerfile := "", ""
		switch build := s.Build.(type) {
		case string:
			context = build
		case map[string]any:
			context, _ = build["context"].(string)
			dockerfile, _ = build["dockerfile"].(string)
			context = cmp.Or(context, ".")
		}
		switch {
		case context != "":
			made.built = true
			folder := path.Join(parent(file), context)
			if near := path.Dir(path.Join(folder, dockerfile)); dockerfile != "" && p.holdsCode(near) {
				folder = near
			}
			if folder != "." && !strings.Contains(folder, "$") && !strings.HasPrefix(folder, "..") && below(folder, p.root) {
				made.folder = folder
			}
		case s.Image != "":
			made.image = imageName(s.Image)
		default:
			continue
		}
		out = append(out, made)
	}
	return out
}

// dependsOn reads the two ways to write it.
func dependsOn(value any) []string {
	var out []string
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			if name, ok := v.(string); ok {
				out = append(out, name)
			}
		}
	case map[string]any:
		out = slices.Collect(maps.Keys(value))
	}
	slices.Sort(out)
	return out
}

// imageName is the last part of the name of an image, without its tag.
func imageName(image string) string {
	image, _, _ = strings.Cut(image, "@")
	image = path.Base(image)
	image, _, _ = strings.Cut(image, ":")
	return image
}

// products are well-known images by the technology they bring.
var products = map[string]string{
	"postgres": "PostgreSQL", "postgis": "PostgreSQL", "pgvector": "PostgreSQL", "timescaledb": "PostgreSQL", "mysql": "MySQL", "mariadb": "MariaDB",
	"mongo": "MongoDB", "redis": "Redis", "valkey": "Valkey", "memcached": "Memcached", "rabbitmq": "RabbitMQ", "kafka": "Kafka", "cp-kafka": "Kafka",
	"zookeeper": "ZooKeeper", "nats": "NATS", "elasticsearch": "Elasticsearch", "opensearch": "OpenSearch", "minio": "MinIO", "nginx": "nginx",
	"traefik": "Traefik", "caddy": "Caddy", "prometheus": "Prometheus", "grafana": "Grafana", "localstack": "LocalStack", "keycloak": "Keycloak",
	"clickhouse-server": "ClickHouse", "cassandra": "Cassandra", "consul": "Consul", "vault": "Vault", "jaeger": "Jaeger", "zipkin": "Zipkin",
	"mailhog": "MailHog", "mailpit": "Mailpit", "maildev": "MailDev", "etcd": "etcd", "cockroach": "CockroachDB", "dynamodb-local": "DynamoDB",
}

// stores are the products that keep data.
var stores = map[string]bool{
	"PostgreSQL": true, "MySQL": true, "MariaDB": true, "MongoDB": true, "Redis": true, "Valkey": true, "Memcached": true, "Elasticsearch": true,
	"OpenSearch": true, "MinIO": true, "ClickHouse": true, "Cassandra": true, "CockroachDB": true, "DynamoDB": true, "etcd": true,
}
