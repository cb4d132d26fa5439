package org.leaderfollowers.benchmarks.report;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;

import javax.xml.parsers.DocumentBuilderFactory;

import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Charts are well-formed, complete and where they should be.
 */
class LineChartTests {

	@Test
	void aChartHasItsAxesItsLinesAndItsLegend() throws Exception {
		LineChart chart = new LineChart("Less < more & \"so on\"", Axis.of("connections", List.of(1, 64, 10_000)),
				Axis.linear("requests/s", 87_654),
				List.of(series("one", 0, 10_000, 20_000, 30_000), series("two & a half", 13, 60_000, 87_654, 0)), true);
		Document svg = parse(chart.svg());
		assertThat(texts(svg, "text")).contains("connections", "requests/s", "1", "64", "10,000", "0", "100,000", "one",
				"two & a half");
		assertThat(texts(svg, "title")).containsExactly("Less < more & \"so on\"");
		assertThat(svg.getElementsByTagName("polyline").getLength()).isEqualTo(2);
		assertThat(svg.getElementsByTagName("circle").getLength()).isEqualTo(6);
	}

	@Test
	void aChartCanBeReadOnLightAndDarkPages() throws Exception {
		Document svg = parse(chart(3).svg());
		String style = texts(svg, "style").get(0);
		assertThat(style).contains("@media (prefers-color-scheme: dark)");
		String dark = style.substring(style.indexOf("@media"));
		for (int i = 0; i < 3; i++) {
			assertThat(style.substring(0, style.indexOf("@media"))).contains(".s" + i + " {");
			assertThat(dark).contains(".s" + i + " {");
		}
	}

	@Test
	void linesDifferByMoreThanTheirColour() throws Exception {
		NodeList lines = parse(chart(3).svg()).getElementsByTagName("polyline");
		List<String> dashes = new ArrayList<>();
		for (int i = 0; i < lines.getLength(); i++) {
			dashes.add(((Element) lines.item(i)).getAttribute("stroke-dasharray"));
		}
		assertThat(dashes).doesNotHaveDuplicates();
	}

	@Test
	void pointsAreWithinTheAxes() throws Exception {
		LineChart chart = new LineChart("", Axis.percentiles("percentile", 99.95),
				Axis.logarithmic("latency", List.of(17.0, 45_000.0)),
				List.of(new Series("a", 0,
						List.of(new Series.Point(0, 17), new Series.Point(90, 100), new Series.Point(99.95, 45_000)))),
				false);
		Element line = (Element) parse(chart.svg()).getElementsByTagName("polyline").item(0);
		double previous = 0;
		for (String point : line.getAttribute("points").split(" ")) {
			double x = Double.parseDouble(point.split(",")[0]);
			double y = Double.parseDouble(point.split(",")[1]);
			assertThat(x).isBetween(80.0, 620.0).isGreaterThan(previous);
			assertThat(y).isBetween(16.0, 384.0);
			previous = x;
		}
		assertThat(previous).isEqualTo(620);
	}

	@Test
	void linearAxesEndAtARoundNumber() {
		assertThat(labels(Axis.linear("", 87_654))).containsExactly("0", "20,000", "40,000", "60,000", "80,000",
				"100,000");
		assertThat(labels(Axis.linear("", 0))).startsWith("0").hasSizeGreaterThan(1);
		assertThat(Axis.linear("", 7.3).max()).isGreaterThanOrEqualTo(7.3);
	}

	@Test
	void logarithmicAxesEncloseTheValues() {
		assertThat(labels(Axis.logarithmic("", List.of(17.0, 450.0)))).containsExactly("10", "20", "50", "100", "200",
				"500");
		assertThat(labels(Axis.logarithmic("", List.of(20.0, 20.0)))).containsExactly("20", "50");
		Axis axis = Axis.logarithmic("", List.of(10.0, 1000.0));
		assertThat(axis.position(10)).isZero();
		assertThat(axis.position(100)).isEqualTo(0.5);
		assertThat(axis.position(1000)).isEqualTo(1);
	}

	@Test
	void eachNineTakesTheSameSpace() {
		Axis axis = Axis.percentiles("", 99.9);
		assertThat(labels(axis)).containsExactly("0", "50", "90", "99", "99.9");
		assertThat(axis.position(99) - axis.position(90)).isCloseTo(axis.position(90) - axis.position(0),
				Offset.offset(1e-9));
	}

	private static LineChart chart(int lines) {
		List<Series> series = new ArrayList<>();
		for (int i = 0; i < lines; i++) {
			series.add(series("line " + i, i, i, i + 1, i + 2));
		}
		return new LineChart("", Axis.of("x", List.of(1, 64, 10_000)), Axis.linear("y", 10), series, false);
	}

	private static Series series(String name, int style, double one, double two, double three) {
		return new Series(name, style,
				List.of(new Series.Point(1, one), new Series.Point(64, two), new Series.Point(10_000, three)));
	}

	private static List<String> labels(Axis axis) {
		return axis.ticks().stream().map(Axis.Tick::label).toList();
	}

	private static Document parse(String svg) throws Exception {
		return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(svg)));
	}

	private static List<String> texts(Document document, String tag) {
		List<String> texts = new ArrayList<>();
		NodeList elements = document.getElementsByTagName(tag);
		for (int i = 0; i < elements.getLength(); i++) {
			texts.add(elements.item(i).getTextContent());
		}
		return texts;
	}

}
