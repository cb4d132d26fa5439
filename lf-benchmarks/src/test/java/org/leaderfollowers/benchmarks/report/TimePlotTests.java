package org.leaderfollowers.benchmarks.report;

import java.io.StringReader;
import java.util.List;
import java.util.Map;

import javax.xml.parsers.DocumentBuilderFactory;

import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

import static org.assertj.core.api.Assertions.assertThat;

class TimePlotTests {

	@Test
	void chartsAreBelowEachOther() throws Exception {
		TimePlot plot = new TimePlot(60);
		plot.add("heap, MB", Map.of("heap", List.of(new double[] { 0, 8 }, new double[] { 60, 9 })));
		plot.add("threads", Map.of("threads", List.of(new double[] { 0, 14 }, new double[] { 60, 14 })));
		Document svg = DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(new InputSource(new StringReader(plot.svg())));
		assertThat(svg.getDocumentElement().getAttribute("height")).isEqualTo(Integer.toString(2 * LineChart.HEIGHT));
		assertThat(svg.getElementsByTagName("polyline").getLength()).isEqualTo(2);
		assertThat(((Element) svg.getElementsByTagName("g").item(1)).getAttribute("transform"))
			.isEqualTo("translate(0 " + LineChart.HEIGHT + ")");
	}

	@Test
	void aLineWithoutPointsIsLeftOut() {
		TimePlot plot = new TimePlot(1);
		plot.add("threads", Map.of("quiet", List.of()));
		assertThat(plot.svg()).doesNotContain("polyline").contains("threads over time");
	}

}
