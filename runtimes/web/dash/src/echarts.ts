// ECharts, as much of it as the pages draw with; a script of its own.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import { AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

use([BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, GridComponent, LegendComponent, MarkLineComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

globalThis.assayCharts = {
  draw(element, option) {
    element.replaceChildren();
    const chart = init(element);
    chart.setOption(option);
    new ResizeObserver(() => chart.resize()).observe(element);
    return (next) => chart.setOption(next, { replaceMerge: ["series"] });
  },
};
